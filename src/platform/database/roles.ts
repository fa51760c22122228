import { setTimeout as pause } from 'node:timers/promises';
import { escapeIdentifier as name, escapeLiteral as text, type Client } from 'pg';
import { StartFailure } from '@platform/local/start-failure.js';
import type { RolePassword } from './role-password.js';

/** A login that the program uses: one that we make, with the first of its passwords unless another is set already, or one that is given. */
export type Login = { readonly role: 'openbot_api' | 'openbot_worker'; readonly given: string | null; readonly passwords: readonly RolePassword[] };

/** Kept with the login's role, because connections pass through poolers that refuse start-up options. */
const settings: Readonly<Record<string, string>> = { statement_timeout: '30s', lock_timeout: '5s', idle_in_transaction_session_timeout: '30s', jit: 'off' };

type State = {
  readonly roles: ReadonlyMap<string, { readonly login: boolean; readonly unbound: boolean; readonly note: string | null; readonly config: readonly string[] }>;
  readonly members: ReadonlySet<string>;
  readonly actsAsOwner: boolean;
  readonly schemaOwner: string;
  readonly connects: boolean;
  readonly setsTenant: boolean;
};

async function readState(client: Client, names: readonly string[]): Promise<State> {
  const { rows: roles } = await client.query<{ name: string; login: boolean; unbound: boolean; note: string | null; config: string[] }>(
    `select rolname as name, rolcanlogin as login, rolsuper or rolbypassrls as unbound, shobj_description(oid, 'pg_authid') as note, coalesce(rolconfig, '{}') as config
     from pg_roles where rolname = any ($1)`,
    [names],
  );
  const { rows: members } = await client.query<{ pair: string }>(
    `select r.rolname || '>' || m.rolname as pair from pg_auth_members a join pg_roles r on r.oid = a.roleid join pg_roles m on m.oid = a.member where r.rolname = any ($1)`,
    [names],
  );
  const exists = (role: string): boolean => roles.some((row) => row.name === role);
  const { rows: here } = await client.query<{ owns: boolean; owner: string; connects: boolean; sets: boolean }>(
    `select ${exists('openbot_owner') ? `pg_has_role('openbot_owner', case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end)` : 'false'} as owns,
       ${exists('openbot_app') ? `has_database_privilege('openbot_app', current_database(), 'connect')` : 'false'} as connects,
       ${exists('openbot_owner') ? `has_parameter_privilege('openbot_owner', 'app.organization', 'set') and has_parameter_privilege('openbot_owner', 'app.project', 'set')` : 'false'} as sets,
       (select nspowner::regrole::text from pg_namespace where nspname = 'public') as owner`,
  );
  return {
    roles: new Map(roles.map(({ name: role, ...rest }) => [role, rest])),
    members: new Set(members.map(({ pair }) => pair)),
    actsAsOwner: here[0]?.owns ?? false,
    schemaOwner: here[0]?.owner ?? '',
    connects: here[0]?.connects ?? false,
    setsTenant: here[0]?.sets ?? false,
  };
}

const isMade = ({ given, role }: Login): boolean => given === null || given === role;
const setPassword = ({ given, passwords: [first], role }: Login, note: string | null, passwords: readonly RolePassword[]): string[] =>
  given !== null || !first || passwords.some(({ fingerprint }) => note === `openbot ${fingerprint}`)
    ? []
    : [`alter role ${role} login password ${text(first.verifier)}`, `comment on role ${role} is ${text(`openbot ${first.fingerprint}`)}`];

/** The statements that are missing; none when everything is in place, which is every start but the first. */
function missing(state: State, logins: readonly Login[], database: string): string[] {
  const roles = ['openbot_owner', 'openbot_app', 'openbot_engine', ...logins.map(({ role }) => role)];
  const memberships: [string, string][] = [
    ['openbot_engine', 'openbot_owner'],
    ...logins.flatMap((login): [string, string][] => [['openbot_app', login.role], ...(isMade(login) ? [] : [[login.role, login.given ?? ''] as [string, string]])]),
  ];
  const used = logins.map(({ role, given }) => given ?? role);
  return [
    ...roles.filter((role) => !state.roles.has(role)).map((role) => `create role ${role} nologin`),
    ...logins.flatMap((login) => setPassword(login, state.roles.get(login.role)?.note ?? null, login.passwords)),
    ...memberships.filter(([role, member]) => !state.members.has(`${role}>${member}`)).map(([role, member]) => `grant ${role} to ${name(member)}`),
    ...(state.actsAsOwner ? [] : ['grant openbot_owner to current_user']),
    ...used.flatMap((role) =>
      Object.entries(settings)
        .filter(([setting, value]) => !state.roles.get(role)?.config.includes(`${setting}=${value}`))
        .map(([setting, value]) => `alter role ${name(role)} set ${setting} = ${text(value)}`),
    ),
    ...(state.schemaOwner === 'openbot_owner' ? [] : ['alter schema public owner to openbot_owner']),
    ...(state.connects ? [] : [`grant connect on database ${name(database)} to openbot_app`]),
    // Functions that confine the tenant to their call have SET clauses, which only this privilege lets their owner write down.
    ...(state.setsTenant ? [] : ['grant set on parameter app.organization, app.project to openbot_owner']),
  ];
}

/** Roles belong to the whole cluster: a process that migrates another database of it may make the same ones at the same time. */
const isRace = ({ code, message }: { code?: string; message?: string }): boolean => ['42710', '23505'].includes(code ?? '') || /concurrently (updated|deleted)/.test(message ?? '');

/**
 * Makes the roles of the database where they are missing, and says which password each login has. Changes nothing that is right already.
 * A login keeps a password that any of the keys makes: putting a new key in front must not lock running processes out.
 */
export async function ensureRoles(client: Client, database: string, logins: readonly Login[]): Promise<Map<string, string>> {
  const names = ['openbot_owner', 'openbot_app', 'openbot_engine', ...logins.flatMap(({ role, given }) => [role, given ?? role])];
  for (let attempt = 1; ; attempt += 1) {
    const state = await readState(client, names);
    const unbound = names.find((role) => role !== 'openbot_owner' && state.roles.get(role)?.unbound);
    if (unbound) throw new StartFailure(`The role ${unbound} may bypass row-level security, which would open every tenant's rows: ALTER ROLE ${unbound} NOSUPERUSER NOBYPASSRLS.`);
    const absent = logins.find(({ given }) => given !== null && !state.roles.has(given) && !given.startsWith('openbot_'));
    if (absent)
      throw new StartFailure(`The login of ${absent.role === 'openbot_api' ? 'DATABASE_API_URL' : 'DATABASE_WORKER_URL'} does not exist in this database server: create it first.`);

    const statements = missing(state, logins, database);
    if (statements.length === 0) return currentPasswords(state, logins);
    try {
      for (const statement of statements) await client.query(statement);
    } catch (error) {
      if ((error as { code?: string }).code === '42501')
        throw new StartFailure(
          `The user of DATABASE_URL may not prepare the roles (${(error as Error).message}): give it CREATEROLE and the database, or run once as an administrator.`,
        );
      if (attempt >= 20 || !isRace(error as Error)) throw error;
      await pause(10 + Math.random() * 40);
    }
  }
}

function currentPasswords(state: State, logins: readonly Login[]): Map<string, string> {
  return new Map(
    logins.flatMap(({ role, passwords }) => {
      const note = state.roles.get(role)?.note;
      const found = passwords.find(({ fingerprint }) => note === `openbot ${fingerprint}`);
      return found ? [[role, found.password] as const] : [];
    }),
  );
}
