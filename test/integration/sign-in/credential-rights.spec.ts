import fc from 'fast-check';
import { Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { keyScopes } from '@domain/access/credentials.js';
import { permissionNames, type PermissionName } from '@domain/access/permissions.js';
import { rightsOf } from '@domain/access/rights.js';
import { organizationRoleNames, projectRoleNames, type OrganizationRole, type ProjectRole } from '@domain/access/roles.js';
import { CreateCredentialCommand } from '@contexts/sign-in/commands/create-credential.command.js';
import { RotateCredentialCommand } from '@contexts/sign-in/commands/rotate-credential.command.js';
import { RevokeCredentialCommand } from '@contexts/sign-in/commands/revoke-credential.command.js';
import type { MadeCredential } from '@contexts/sign-in/commands/store-credential.js';
import type { CredentialsOf } from '@contexts/sign-in/queries/credential-lists.js';
import { Authenticator } from '@platform/identity/authenticator.js';
import type { Identity } from '@platform/identity/identity.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { startTestApp, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

// A thousand creations, rotations and ends, each with some questions to the database.
jest.setTimeout(180_000);

let database: TestDatabase;
let app: TestApp;
let outside: Client;
let organizationId: string;
const projects: string[] = [];
const people: string[] = [];
let account: string;

/** A secret that somebody holds, and with which credential it was got. */
type Held = {
  secret: string;
  readonly id: string;
  readonly of: CredentialsOf;
  readonly scopes: readonly string[] | null;
  readonly projects: readonly string[] | null;
  readonly parent: Held | null;
  /** The ids of those that it was made with, however far: as they end, it ends. */
  readonly line: readonly string[];
};
const held: Held[] = [];
/** What was revoked, as this test counts it. */
const ended = new Set<string>();

beforeAll(async () => {
  database = await openTestDatabase();
  app = await startTestApp(database, { OPENBOT_ROLES: 'api' });
  outside = new Client({ connectionString: database.url });
  await outside.connect();
  const owner = await app.createTenant();
  organizationId = owner.organizationId;
  const { body } = await owner.call('GET', '/v1/me');
  const second = uuidv7();
  await outside.query(`insert into project (organization_id, id, name) values ($1, $2, 'Second')`, [organizationId, second]);
  projects.push(fromPublicId('project', body['project'] as string)!, second);
  account = fromPublicId('member', (await owner.call('POST', '/v1/organization/service-accounts', { name: 'A', role: 'admin' })).body['id'] as string)!;
  for (const caller of [owner, await app.createMember(owner, 'admin'), await app.createMember(owner, 'admin'), await app.createMember(owner)]) {
    const memberId = fromPublicId('member', caller.memberId)!;
    const id = fromPublicId('token', (await caller.call('GET', '/v1/me')).body['token'] as string)!;
    people.push(memberId);
    held.push({ secret: caller.token, id, of: { kind: 'user_token', memberId }, scopes: null, projects: null, parent: null, line: [] });
  }
});
afterAll(async () => {
  await app?.close();
  await outside?.end();
  await database?.close();
});

const identify = (one: Held, project: string): Promise<Identity | null> => app.nest.get(Authenticator).authenticate(one.secret, project);

/** What a member may do in a project as the tables say it, asked beside the program. */
async function rightsIn(memberId: string, project: string): Promise<ReadonlySet<string>> {
  const { rows } = await outside.query<{ role: OrganizationRole; project_role: ProjectRole | null; away: boolean }>(
    `select m.role, r.role as project_role, m.suspended_at is not null as away from member m left join project_role r on r.member_id = m.id and r.project_id = $2 where m.id = $1`,
    [memberId, project],
  );
  const { role, project_role: projectRole, away } = rows[0]!;
  return away ? new Set() : rightsOf({ role, projectRole });
}

/** What a credential has in a project beyond its maker now, beyond whom it acts for, and beyond the one that it was got with. */
async function faults(one: Held, project: string): Promise<string[]> {
  const identity = await identify(one, project);
  if (!identity || identity.context.projectId !== project) return [];
  const { rows } = await outside.query<{ created_by: string; member_id: string | null }>(`select created_by, member_id from credential where id = $1`, [one.id]);
  const bounds = await Promise.all([rows[0]!.created_by, rows[0]!.member_id].flatMap((member) => (member === null ? [] : [rightsIn(member, project)])));
  const beyond = [...identity.permissions].filter((name) => bounds.some((bound) => !bound.has(name)) || (one.parent?.scopes && !one.parent.scopes.includes(name)));
  const over = await outside.query(`select 1 from credential where id = any ($1) and (revoked_at is not null or expires_at <= clock_timestamp())`, [one.line]);
  return [...beyond, ...(one.parent?.projects && !one.parent.projects.includes(project) ? ['a project'] : []), ...over.rows.map(() => 'a life')];
}

const narrowing = fc.record({
  scopes: fc.option(fc.uniqueArray(fc.constantFrom<PermissionName[]>(...keyScopes, 'tokens.create', 'keys.manage'), { minLength: 1, maxLength: 6 }), { freq: 2 }),
  projects: fc.option(fc.constantFrom([0], [1], [0, 1])),
});
const step = fc.record({
  with: fc.nat(9_999),
  target: fc.nat(9_999),
  project: fc.nat(1),
  what: fc.constantFrom('token', 'token', 'token', 'key', 'account', 'rotate', 'rotate', 'revoke'),
  wanted: narrowing,
  /** Minutes. */
  lives: fc.option(fc.integer({ min: 1, max: 600 }), { freq: 1 }),
  passes: fc.nat(2),
  appoint: fc.option(
    fc.record({
      who: fc.nat(4),
      role: fc.constantFrom(...organizationRoleNames),
      projectRole: fc.option(fc.constantFrom(...projectRoleNames)),
      away: fc.constantFrom(false, false, false, true),
    }),
    { freq: 1 },
  ),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function appoint({ who, role, projectRole, away }: NonNullable<Step['appoint']>): Promise<void> {
  // One owner stays, so that there is always somebody who may.
  const member = [account, ...people.slice(1)][who % people.length]!;
  await outside.query(`update member set role = $2, suspended_at = case when $3 then clock_timestamp() end where id = $1`, [member, role, away]);
  await outside.query(`delete from project_role where member_id = $1`, [member]);
  if (projectRole)
    await outside.query(`insert into project_role (organization_id, project_id, member_id, role) values ($1, $2, $3, $4)`, [organizationId, projects[1], member, projectRole]);
}

/** What ends in a while ends so much sooner. */
const pass = (minutes: number) => outside.query(`update credential set expires_at = expires_at - $1 * interval '1 minute' where expires_at is not null`, [minutes]);

/** Those that began everything stay, so that somebody can go on. */
async function revoke(identity: Identity, one: Held): Promise<null> {
  const isTheirs = isWithin(identity, one) && one.parent !== null;
  const revoked = isTheirs && (await app.commands.execute(new RevokeCredentialCommand(identity, one.of, one.id))).ok;
  if (revoked) for (const other of held) if (other.id === one.id || other.line.includes(one.id)) ended.add(other.id);
  return null;
}

/** The routes lead a caller to their own tokens alone, or to those of accounts and the keys with keys.manage. */
function isWithin(identity: Identity, { of }: Held): boolean {
  const isOwn = of.kind === 'user_token' && of.memberId === identity.memberId;
  return isOwn || ((of.kind === 'api_key' || of.memberId === account) && identity.permissions.has('keys.manage'));
}

async function rotate(asks: Held, identity: Identity, one: Held): Promise<Held | null> {
  if (!isWithin(identity, one)) return null;
  const rotated = await app.commands.execute(new RotateCredentialCommand(identity, one.of, one.id, 60_000));
  // Whoever asked holds the secret now, and it is bound by what they asked with.
  return rotated.ok ? { ...one, secret: rotated.value.secret, parent: asks } : null;
}

/** The credential that a step makes or rotates; null where the one that asks may not. */
async function take({ with: by, target, project, what, wanted, lives }: Step): Promise<Held | null> {
  const asks = held[by % held.length]!;
  const identity = await identify(asks, projects[project]!);
  if (!identity?.permissions.has(what === 'key' || what === 'account' ? 'keys.manage' : 'tokens.create')) return null;
  if (what === 'rotate') return rotate(asks, identity, held[target % held.length]!);
  if (what === 'revoke') return revoke(identity, held[target % held.length]!);
  const of: CredentialsOf = what === 'key' ? { kind: 'api_key' } : { kind: 'user_token', memberId: what === 'account' ? account : identity.memberId };
  const narrow = { scopes: what === 'key' ? (wanted.scopes ?? keyScopes) : wanted.scopes, projects: wanted.projects?.map((place) => projects[place]!) ?? null };
  const made = await app.commands.execute(new CreateCredentialCommand(identity, of, { name: 'Made', expiresInMs: lives && lives * 60_000, ...narrow }));
  return made.ok ? newlyHeld(made.value, of, asks) : null;
}

const newlyHeld = ({ secret, shown }: MadeCredential, of: CredentialsOf, parent: Held): Held => ({
  secret,
  id: shown.id,
  of,
  scopes: shown.scopes,
  projects: shown.projects,
  parent,
  line: [parent.id, ...parent.line],
});

test('1,000 random creations and rotations, with roles that shrink, time and revocations between, give no right that the maker lacks, and no longer life', async () => {
  const steps = fc.sample(step, { seed: 4, numRuns: 1_000 });
  const found: string[] = [];
  let done = 0;
  for (const [at, one] of steps.entries()) {
    if (one.appoint) await appoint(one.appoint);
    await pass(one.passes);
    const taken = await take(one);
    if (taken) {
      done += 1;
      held.push(taken);
    }
    // What was made or rotated, and one from before: a role may have shrunk since.
    for (const checked of [...(taken ? [taken] : []), held[one.target % held.length]!])
      for (const project of projects) found.push(...(await faults(checked, project)).map((fault) => `${at}: ${fault}`));
  }
  expect(found).toEqual([]);
  expect(done).toBeGreaterThan(100);
  // Everything that was made with what was revoked, and nothing else.
  const { rows } = await outside.query<{ id: string }>('select id from credential where revoked_at is not null');
  expect(new Set(rows.map(({ id }) => id))).toEqual(ended);
  expect(ended.size).toBeGreaterThan(20);
  expect(new Set(held.map(({ of }) => of.kind))).toEqual(new Set(['user_token', 'api_key']));
  expect(permissionNames.length).toBeGreaterThan(keyScopes.length);
});
