/** What runs a statement: a `pg` client, or anything that answers as one. */
export type Reader = { query(sql: string): Promise<{ readonly rows: readonly object[] }> };

const ours = `not in (select objid from pg_depend where deptype = 'e')`;

/** Privileges as `grant … to …`, the owner's own left out: every object has those. */
const grants = (acl: string, owner: string): string => `(
  select string_agg(format('grant %s to %s', g.privileges, g.grantee), E';\\n' order by g.grantee)
    from (
      select case when grantee = 0 then 'public' else grantee::regrole::text end as grantee,
             string_agg(lower(privilege_type) || case when is_grantable then ' with grant option' else '' end, ', ' order by privilege_type) as privileges
        from aclexplode(${acl}) where grantee <> ${owner} group by 1
    ) g
)`;

const roles = `
  select format('role %s%s%s%s%s%s%s', rolname,
           case when rolsuper then ' superuser' else '' end, case when rolcanlogin then ' login' else '' end, case when rolbypassrls then ' bypassrls' else '' end,
           case when rolcreaterole then ' createrole' else '' end, case when rolcreatedb then ' createdb' else '' end, case when rolinherit then '' else ' noinherit' end)
         || coalesce((select string_agg(format(E'\\n  member of %s%s', m.roleid::regrole, case when m.inherit_option then '' else ' without inherit' end), '' order by m.roleid::regrole::text)
              from pg_auth_members m where m.member = r.oid), '')
         || coalesce((select string_agg(E'\\n  set ' || setting, '' order by setting) from pg_db_role_setting s, unnest(s.setconfig) setting where s.setrole = r.oid and s.setdatabase = 0), '') as text
    from pg_roles r where rolname like 'openbot%' order by rolname`;

const parameters = `
  select format(E'parameter %s;\\n%s', parname, ${grants('paracl', '10')}) as text from pg_parameter_acl where parname like 'app.%' order by parname`;

const schemas = `
  select format('schema %s owner %s', nspname, nspowner::regrole) || coalesce(E';\\n' || ${grants(`coalesce(nspacl, acldefault('n', nspowner))`, 'nspowner')}, '') as text
    from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' order by nspname`;

const extensions = `select format('extension %s', extname) as text from pg_extension where extname <> 'plpgsql' order by extname`;

const types = `
  select case t.typtype
           when 'e' then format('type %s as enum (%s)', t.oid::regtype, (select string_agg(quote_literal(enumlabel), ', ' order by enumsortorder) from pg_enum where enumtypid = t.oid))
           when 'd' then format('domain %s as %s%s', t.oid::regtype, format_type(t.typbasetype, t.typtypmod),
             coalesce((select string_agg(format(E'\\n  constraint %s %s', conname, pg_get_constraintdef(oid, true)), '' order by conname) from pg_constraint where contypid = t.oid), ''))
           else format('type %s as (%s)', t.oid::regtype, (select string_agg(format('%s %s', attname, format_type(atttypid, atttypmod)), ', ' order by attnum) from pg_attribute where attrelid = t.typrelid and attnum > 0 and not attisdropped))
         end as text
    from pg_type t left join pg_class c on c.oid = t.typrelid
   where t.typnamespace = 'public'::regnamespace and (t.typtype in ('e', 'd') or (t.typtype = 'c' and c.relkind = 'c')) and t.oid ${ours}
   order by t.typname`;

const sequences = `
  select format('sequence %s as %s increment %s start %s owner %s', s.seqrelid::regclass, s.seqtypid::regtype, s.seqincrement, s.seqstart, c.relowner::regrole)
         || coalesce(E';\\n' || ${grants(`coalesce(c.relacl, acldefault('s', c.relowner))`, 'c.relowner')}, '') as text
    from pg_sequence s join pg_class c on c.oid = s.seqrelid where c.relnamespace = 'public'::regnamespace order by c.relname`;

const column = `
  format(E'\\n  %s %s', a.attname, format_type(a.atttypid, a.atttypmod))
  || case when a.attcollation <> t.typcollation then format(' collate %s', a.attcollation::regcollation) else '' end
  || case when a.attnotnull then ' not null' else '' end
  || case when a.attidentity <> '' then ' generated ' || case a.attidentity when 'a' then 'always' else 'by default' end || ' as identity' else '' end
  || case when d.adbin is null then '' when a.attgenerated <> '' then format(' generated always as (%s)', pg_get_expr(d.adbin, d.adrelid)) else ' default ' || pg_get_expr(d.adbin, d.adrelid) end
  || coalesce(format(' comment %L', col_description(c.oid, a.attnum)), '')
  || case when a.attstorage <> t.typstorage then format(' storage %s', a.attstorage) else '' end
  || coalesce(E'\\n    ' || replace(${grants('a.attacl', 'c.relowner')}, E'\\n', E'\\n    '), '')`;

const policy = `
  format(E'\\npolicy %s %s for %s to %s', polname, case when polpermissive then 'permissive' else 'restrictive' end,
         case polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
         (select string_agg(case when role = 0 then 'public' else role::regrole::text end, ', ' order by role::regrole::text) from unnest(polroles) role))
  || coalesce(format(E'\\n  using %s', pg_get_expr(polqual, polrelid)), '') || coalesce(format(E'\\n  with check %s', pg_get_expr(polwithcheck, polrelid)), '')`;

const tables = `
  select format('%s %s owner %s', case c.relkind when 'p' then 'partitioned table' when 'v' then 'view' when 'm' then 'materialized view' else 'table' end, c.relname, c.relowner::regrole)
         || case when c.relpersistence = 'u' then ' unlogged' else '' end
         || case when c.relrowsecurity then ' row security' else '' end || case when c.relforcerowsecurity then ' forced' else '' end
         || coalesce(' with (' || (select string_agg(o, ', ' order by o) from unnest(c.reloptions) o) || ')', '')
         || coalesce(' partition by ' || pg_get_partkeydef(c.oid), '') || coalesce(' ' || pg_get_expr(c.relpartbound, c.oid), '')
         || coalesce((select string_agg(${column}, '' order by a.attnum) from pg_attribute a join pg_type t on t.oid = a.atttypid
                        left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped), '')
         || coalesce((select string_agg(format(E'\\nconstraint %s %s', conname, pg_get_constraintdef(oid, true)), '' order by conname) from pg_constraint where conrelid = c.oid and contype <> 'n'), '')
         || coalesce((select string_agg(E'\\n' || regexp_replace(pg_get_indexdef(indexrelid), '^CREATE ', ''), '' order by indexrelid::regclass::text) from pg_index
                       where indrelid = c.oid and not exists (select from pg_constraint where conindid = indexrelid and contype in ('p', 'u', 'x'))), '')
         || coalesce((select string_agg(${policy}, '' order by polname) from pg_policy where polrelid = c.oid), '')
         || coalesce((select string_agg(E'\\n' || regexp_replace(pg_get_triggerdef(oid, true), '^CREATE ', '') || case tgenabled when 'O' then '' else ' enabled ' || tgenabled::text end, '' order by tgname)
              from pg_trigger where tgrelid = c.oid and not tgisinternal), '')
         || case when c.relkind in ('v', 'm') then E'\\n' || pg_get_viewdef(c.oid, true) else '' end
         || coalesce(E'\\n' || ${grants(`coalesce(c.relacl, acldefault('r', c.relowner))`, 'c.relowner')}, '') as text
    from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f') and c.oid ${ours} order by c.relname`;

/** pg_get_functiondef says everything but the owner and who may execute: language, volatility, security, settings and the body. */
const functions = `
  select format(E'%s\\nowner %s', case p.prokind when 'a' then format('aggregate %s', p.oid::regprocedure) else rtrim(pg_get_functiondef(p.oid)) end, p.proowner::regrole)
         || coalesce(E';\\n' || ${grants(`coalesce(p.proacl, acldefault('f', p.proowner))`, 'p.proowner')}, '') as text
    from pg_proc p where p.pronamespace = 'public'::regnamespace and p.oid ${ours} order by p.proname, pg_get_function_identity_arguments(p.oid)`;

const defaults = `
  select format(E'default privileges of %s on %s;\\n%s', defaclrole::regrole, defaclobjtype, ${grants('defaclacl', 'defaclrole')}) as text from pg_default_acl order by defaclrole::regrole::text, defaclobjtype`;

/**
 * The whole schema as text, from the catalogs of a migrated database: roles, types, tables with columns, constraints, indexes, policies
 * and storage parameters, functions with their bodies, owners and grants. Two databases with the same schema give the same bytes.
 * The order of the columns is part of it; that of everything else is by name.
 */
export async function printSchema(database: Reader): Promise<string> {
  const blocks: string[] = [];
  for (const sql of [roles, parameters, schemas, extensions, types, sequences, tables, functions, defaults]) {
    const { rows } = await database.query(sql);
    blocks.push(...rows.map((row) => (row as { readonly text: string }).text.trimEnd()));
  }
  return `${blocks.map((block) => `${block};`).join('\n\n')}\n`;
}
