import type { Client } from 'pg';

/** `narrows`: a restrictive policy, which opens nothing. */
export type Policy = { readonly name: string; readonly narrows: boolean; readonly roles: readonly string[]; readonly expression: string };
export type Table = {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rowSecurity: boolean;
  readonly forced: boolean;
  readonly policies: readonly Policy[];
};

/** What is allowed by name, each with its reason. */
export type Exceptions = {
  /** Tables that belong to no tenant. */
  readonly outsideTenants: Readonly<Record<string, string>>;
  /** Tables whose project is a fact about the row and not its border. */
  readonly sharedByProjects: Readonly<Record<string, string>>;
  /** Tables that the engine's own functions see across tenants. */
  readonly openToEngine: Readonly<Record<string, string>>;
};

export async function listTables(superuser: Client): Promise<Table[]> {
  const { rows } = await superuser.query<Table>(`
    select c.relname as name, c.relrowsecurity as "rowSecurity", c.relforcerowsecurity as forced,
           array(select attname::text from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped order by attnum) as columns,
           coalesce((select json_agg(json_build_object('name', polname, 'narrows', not polpermissive, 'expression', concat_ws(' ', pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)),
             'roles', array(select case when role = 0 then 'public' else role::regrole::text end from unnest(polroles) role)) order by polname) from pg_policy where polrelid = c.oid), '[]') as policies
      from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') order by c.relname`);
  return rows;
}

/** The column that names a row's organization; the organization itself is named by its id. */
export const tenantColumn = ({ name, columns }: Table): 'organization_id' | 'id' | null =>
  columns.includes('organization_id') ? 'organization_id' : name === 'organization' ? 'id' : null;
export const hasProject = ({ columns }: Table): boolean => columns.includes('project_id');

/** What is wrong with the tables' protection, one line each. */
export function findUnprotected(tables: readonly Table[], { outsideTenants, sharedByProjects, openToEngine }: Exceptions): string[] {
  return tables.flatMap((table) => {
    const { name } = table;
    if (!tenantColumn(table)) return name in outsideTenants ? [] : [`${name}: has no organization_id and no reason`];
    const opening = table.policies.filter(({ narrows }) => !narrows);
    const bound = opening.filter((policy) => !policy.roles.every((role) => role === 'openbot_engine'));
    const border = hasProject(table) && !(name in sharedByProjects) ? ['tenant_organization()', 'tenant_project()'] : ['tenant_organization()'];
    return [
      ...(table.rowSecurity ? [] : [`${name}: row-level security is off`]),
      ...(table.forced ? [] : [`${name}: row-level security does not bind the owner`]),
      ...(bound.length > 0 ? [] : [`${name}: has no policy`]),
      ...bound.flatMap((policy) => border.filter((part) => !policy.expression.includes(part)).map((part) => `${name}: policy ${policy.name} does not compare ${part}`)),
      ...(bound.length < opening.length && !(name in openToEngine) ? [`${name}: is open to the engine without a reason`] : []),
    ];
  });
}
