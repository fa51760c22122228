/**
 * The statements that make a table a tenant's: forced row-level security (its owner is bound by it too), one policy that compares the
 * transaction's tenant, and the application's grants. A forgotten context yields no row. `organization`: shared by all projects of one.
 */
export function protectTable(table: string, scope: 'project' | 'organization'): string[] {
  const project = scope === 'project' ? ' and project_id = tenant_project()' : '';
  return [
    `alter table ${table} enable row level security`,
    `alter table ${table} force row level security`,
    `create policy ${table}_tenant on ${table} to openbot_app using (organization_id = tenant_organization()${project}) with check (organization_id = tenant_organization()${project})`,
    `grant select, insert, update, delete on ${table} to openbot_app`,
  ];
}
