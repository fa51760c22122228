import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { readExportLine } from '@platform/audit/export-line.js';
import type { Caller } from '@test/support/app.js';
import { eventually } from '@test/support/eventually.js';
import { entriesOf, exportLines, organizationAudit, projectOf, startAuditApp, verify, type AuditApp, type ShownEntry } from './audit-app.js';

let world: AuditApp;
let owner: Caller;
let project: string;
let projectAudit: string;

beforeAll(async () => {
  world = await startAuditApp();
  owner = await world.app.createTenant();
  project = await projectOf(owner);
  projectAudit = `/v1/projects/${project}/audit`;
});
afterAll(() => world.close());

const newest = async (caller: Caller, path: string, count: number): Promise<ShownEntry[]> => {
  await world.linked();
  return (await entriesOf(caller, path)).slice(-count);
};
const told = ({ action, target, detail }: ShownEntry) => ({ action, target, detail });

describe('what is told', () => {
  test('an organization’s chain begins with how it was founded, by nobody inside it', async () => {
    const fresh = await world.app.createTenant();
    const [made, projectMade, ownerMade, token] = await newest(fresh, organizationAudit, 4);
    expect([made, projectMade, ownerMade, token].map((entry) => [entry!.sequence, entry!.action, entry!.actor.kind])).toEqual([
      [1, 'organization.created', 'operator'],
      [2, 'project.created', 'operator'],
      [3, 'member.created', 'operator'],
      [4, 'token.created', 'operator'],
    ]);
    expect(told(made!)).toEqual({ action: 'organization.created', target: toPublicId('organization', fresh.organizationId), detail: {} });
    expect(told(ownerMade!)).toEqual({ action: 'member.created', target: fresh.memberId, detail: { kind: 'person', role: 'owner' } });
    expect(token!.detail).toEqual({ member: fresh.memberId, scopes: null, projects: null, expiresInMs: null });
  });

  test('an entry says who did it, with what, from where and when', async () => {
    const before = Date.now();
    const account = (await owner.call('POST', '/v1/organization/service-accounts', { name: 'Deployments' })).body['id'] as string;
    await owner.call('POST', `/v1/organization/service-accounts/${account}/tokens`, { name: 'First' });
    const [created, token] = await newest(owner, organizationAudit, 2);
    expect(told(created!)).toEqual({ action: 'member.created', target: account, detail: { kind: 'service_account', role: 'member' } });
    expect(created!.actor).toMatchObject({ kind: 'member', member: owner.memberId, onBehalfOf: null, service: null });
    expect(created!.actor.credential).toMatch(/^tok_/);
    expect(created).toMatchObject({ outcome: 'done', project: null, address: '127.0.0.1' });
    // Two clocks of one machine; a minute is room for a busy one.
    expect(Math.abs(created!.at - before)).toBeLessThan(60_000);
    expect(told(token!)).toMatchObject({ action: 'token.created', detail: { member: account } });
  });

  test('each thing that a change changes is an entry, and what stays as it was is none', async () => {
    const member = await world.app.createMember(owner);
    const change = (expected: number, body: object) => owner.call('PATCH', `/v1/organization/members/${member.memberId}`, { expected, ...body });
    await change(1, { name: 'Maxine', role: 'viewer', suspended: true });
    await change(2, { name: 'Maxine', role: 'viewer', suspended: false });
    await owner.call('DELETE', `/v1/organization/members/${member.memberId}?expected=3`);
    expect((await newest(owner, organizationAudit, 5)).map(told)).toEqual([
      { action: 'member.renamed', target: member.memberId, detail: {} },
      { action: 'member.role_changed', target: member.memberId, detail: { role: 'viewer', before: 'member' } },
      { action: 'member.suspended', target: member.memberId, detail: {} },
      { action: 'member.restored', target: member.memberId, detail: {} },
      { action: 'member.removed', target: member.memberId, detail: { role: 'viewer' } },
    ]);
  });

  test('roles in a project and rights over a bot are told member by member, in the project’s chain', async () => {
    const [one, other] = [await world.app.createMember(owner), await world.app.createMember(owner)];
    const at = async (): Promise<number> => (await owner.call('GET', `/v1/projects/${project}`)).body['revision'] as number;
    const set = async (members: object[]) => owner.call('PUT', `/v1/projects/${project}/members`, { expected: await at(), members });
    await set([
      { member: one.memberId, role: 'viewer' },
      { member: other.memberId, role: 'admin' },
    ]);
    await set([{ member: one.memberId, role: 'member' }]);
    const entries = await newest(owner, projectAudit, 4);
    expect(entries.map(({ project: of }) => of)).toEqual([project, project, project, project]);
    expect(entries.slice(0, 2).map(told)).toEqual([
      { action: 'project.role_set', target: one.memberId, detail: { role: 'viewer', before: null } },
      { action: 'project.role_set', target: other.memberId, detail: { role: 'admin', before: null } },
    ]);
    expect(entries.slice(2).map(told)).toEqual(
      expect.arrayContaining([
        { action: 'project.role_set', target: one.memberId, detail: { role: 'member', before: 'viewer' } },
        { action: 'project.role_removed', target: other.memberId, detail: { before: 'admin' } },
      ]),
    );

    const bot = (await owner.call('POST', '/v1/bots', { name: 'Planner', instructions: 'A secret recipe.' })).body['id'] as string;
    await owner.call('PUT', `/v1/bots/${bot}/grants`, { expected: 1, grants: [{ member: one.memberId, rights: ['read', 'delegate'] }] });
    await owner.call('PUT', `/v1/bots/${bot}/grants`, { expected: 2, grants: [] });
    await owner.call('PATCH', `/v1/bots/${bot}`, { expected: 3, instructions: 'Another secret recipe.' });
    expect((await newest(owner, projectAudit, 4)).map(told)).toEqual([
      { action: 'bot.created', target: bot, detail: {} },
      { action: 'bot.grant_set', target: bot, detail: { member: one.memberId, rights: 'read delegate', before: null } },
      { action: 'bot.grant_removed', target: bot, detail: { member: one.memberId, before: 'read delegate' } },
      { action: 'bot.changed', target: bot, detail: { fields: 'instructions', revision: 4 } },
    ]);
  });

  test('the life of a token, a key and a connection is told, and no part of a secret', async () => {
    const secrets: string[] = [];
    const token = (await owner.call('POST', '/v1/me/tokens', { name: 'Phone', scopes: ['bots.read'], expiresInMs: 3_600_000 })).body;
    const rotated = (await owner.call('POST', `/v1/me/tokens/${token['id'] as string}/rotate`, { overlapMs: 60_000 })).body;
    await owner.call('DELETE', `/v1/me/tokens/${token['id'] as string}`);
    const key = (await owner.call('POST', '/v1/api-keys', { name: 'Deployments', scopes: ['bots.read'], projects: [project] })).body;
    await world.app.as(key['key'] as string)('GET', '/v1/bots');
    await owner.call('DELETE', `/v1/api-keys/${key['id'] as string}`);
    const connection = (await owner.call('POST', '/v1/model-connections', { kind: 'openai', name: 'Ours', apiKey: 'sk-first', models: [{ id: 'scripted' }] })).body['id'] as string;
    await owner.call('PATCH', `/v1/model-connections/${connection}`, { expected: 1, name: 'Still ours', apiKey: 'sk-second' });
    await owner.call('DELETE', `/v1/model-connections/${connection}`);
    secrets.push(token['token'] as string, rotated['token'] as string, key['key'] as string, 'sk-first', 'sk-second');
    expect((await newest(owner, organizationAudit, 9)).map(told)).toEqual([
      { action: 'token.created', target: token['id'], detail: { member: owner.memberId, scopes: 'bots.read', projects: null, expiresInMs: 3_600_000 } },
      { action: 'token.rotated', target: token['id'], detail: { member: owner.memberId, overlapMs: 60_000 } },
      { action: 'token.revoked', target: token['id'], detail: { member: owner.memberId } },
      { action: 'key.created', target: key['id'], detail: { scopes: 'bots.read', projects: 1, expiresInMs: null } },
      { action: 'key.revoked', target: key['id'], detail: {} },
      { action: 'connection.created', target: connection, detail: { kind: 'openai', key: true } },
      { action: 'connection.changed', target: connection, detail: { fields: 'name', revision: 2 } },
      { action: 'connection.secret_replaced', target: connection, detail: { revision: 2 } },
      { action: 'connection.deleted', target: connection, detail: {} },
    ]);
    const [mirrored] = await newest(owner, projectAudit, 1);
    expect(mirrored).toMatchObject({ action: 'key.mirrored', target: key['id'], actor: { kind: 'member', credential: key['id'] } });

    const rows = JSON.stringify((await world.superuser.query('select * from audit_entry')).rows);
    for (const secret of [...secrets, 'recipe', 'Phone', 'Maxine', 'olivia']) expect(rows).not.toContain(secret);
  });

  test('a project’s end is told by the organization’s chain: who asked, and where its own chain ended', async () => {
    const { id } = (await owner.call('POST', '/v1/projects', { name: 'Research' })).body as { id: string };
    await owner.call('PATCH', `/v1/projects/${id}`, { expected: 1, name: 'Other' });
    await world.linked();
    const { length, head } = await verify(owner, `/v1/projects/${id}/audit`);
    expect(length).toBe(1);
    expect((await owner.call('DELETE', `/v1/projects/${id}?expected=2`)).status).toBe(202);
    const ended = async () => (await entriesOf(owner, organizationAudit)).filter(({ target }) => target === id);
    const entries = await eventually(ended, (all) => all.at(-1)?.action === 'project.purged', 60_000);
    expect(entries.map(told)).toEqual([
      { action: 'project.created', target: id, detail: {} },
      { action: 'project.purge_requested', target: id, detail: {} },
      { action: 'project.purged', target: id, detail: { length, hash: head } },
    ]);
    expect(entries.map(({ actor }) => actor.member ?? actor.service)).toEqual([owner.memberId, owner.memberId, 'purge']);
    expect(await verify(owner, organizationAudit)).toMatchObject({ ok: true });
    // As the one who verifies an export reads it.
    const { lines } = await exportLines(world.app, owner, `${organizationAudit}/export`);
    expect(lines.filter((line) => readExportLine(JSON.stringify(line)) === null)).toEqual([]);
  });

  test('a change that is refused leaves no entry, and neither does one that is rolled back', async () => {
    await world.linked();
    const before = await verify(owner, organizationAudit);
    expect((await owner.call('PATCH', `/v1/organization/members/${owner.memberId}`, { expected: 1, role: 'viewer' })).status).toBe(409);
    expect((await owner.call('PATCH', '/v1/organization', { expected: 99, name: 'Other' })).status).toBe(409);
    await world.linked();
    expect(await verify(owner, organizationAudit)).toEqual(before);
  });
});

describe('reading', () => {
  test('200: pages go from the newest to the oldest, each entry once', async () => {
    await world.linked();
    const all = await entriesOf(owner, organizationAudit);
    const seen: number[] = [];
    for (let next: string | null = ''; next !== null;) {
      const { body } = await owner.call('GET', `${organizationAudit}?limit=3${next && `&before=${next}`}`);
      seen.push(...(body['items'] as ShownEntry[]).map(({ sequence }) => sequence));
      next = body['next'] as string | null;
    }
    expect(seen).toEqual(all.map(({ sequence }) => sequence).toReversed());
    expect(seen.at(-1)).toBe(1);
  });

  test('200: filters by action, group of actions, actor, target and time', async () => {
    await world.linked();
    const all = await entriesOf(owner, organizationAudit);
    const found = async (query: string): Promise<number[]> =>
      ((await owner.call('GET', `${organizationAudit}?limit=100&${query}`)).body['items'] as ShownEntry[]).map(({ sequence }) => sequence);
    const wanted = (keep: (entry: ShownEntry) => boolean): number[] =>
      all
        .filter(keep)
        .map(({ sequence }) => sequence)
        .toReversed();
    const [middle] = all.slice(Math.floor(all.length / 2));
    expect(await found('action=member.created')).toEqual(wanted(({ action }) => action === 'member.created'));
    expect(await found('action=member,key.created')).toEqual(wanted(({ action }) => action.startsWith('member.') || action === 'key.created'));
    expect(await found(`actor=${owner.memberId}`)).toEqual(wanted(({ actor }) => actor.member === owner.memberId));
    const { credential } = all.find(({ actor }) => actor.credential !== null)!.actor;
    expect(await found(`actor=${credential}`)).toEqual(wanted(({ actor }) => actor.credential === credential));
    expect(await found(`target=${project}`)).toEqual(wanted(({ target }) => target === project));
    expect(await found(`from=${middle!.at}`)).toEqual(wanted(({ at }) => at >= middle!.at));
    expect(await found(`until=${middle!.at}`)).toEqual(wanted(({ at }) => at < middle!.at));
    expect((await found(`from=${middle!.at}&action=token`)).length).toBeGreaterThan(0);
  });

  test.each([
    ['action', 'action=member.flown'],
    ['actor', `actor=bot_01k0000000e00800000000000g`],
    ['target', 'target=nothing'],
    ['before', 'before=x'],
    ['from', 'from=-1'],
    ['limit', 'limit=101'],
  ])('400: a wrong %s is named', async (field, query) => {
    const { status, body } = await owner.call('GET', `${organizationAudit}?${query}`);
    expect([status, body['_tag'], body['field']]).toEqual([400, 'InvalidInput', field]);
  });

  test('403 and 404: who may not read the log, and whose project it is not', async () => {
    const [member, auditor, stranger] = [await world.app.createMember(owner), await world.app.createMember(owner, 'auditor'), await world.app.createTenant()];
    expect((await member.call('GET', organizationAudit)).status).toBe(403);
    expect((await member.call('GET', projectAudit)).status).toBe(403);
    expect((await auditor.call('GET', organizationAudit)).status).toBe(200);
    expect((await auditor.call('GET', projectAudit)).status).toBe(200);
    const [foreign, missing] = [
      await stranger.call('GET', projectAudit),
      await stranger.call('GET', `/v1/projects/${toPublicId('project', fromPublicId('member', owner.memberId)!)}/audit`),
    ];
    expect(foreign.status).toBe(404);
    expect(foreign.text).toBe(missing.text);
  });
});

describe('export', () => {
  test('200: every entry in the order of the chain with the hash before it, and the head at last', async () => {
    await world.linked();
    const { status, lines } = await exportLines(world.app, owner, `${organizationAudit}/export`);
    const all = await entriesOf(owner, organizationAudit);
    expect(status).toBe(200);
    const organization = toPublicId('organization', owner.organizationId);
    expect(lines.slice(0, -1)).toEqual(all.map((entry, index) => ({ ...entry, organization, previous: all[index - 1]?.hash ?? '0'.repeat(64) })));
    expect(lines.at(-1)).toEqual({ organization, project: null, length: all.length, head: all.at(-1)!.hash });
  });

  test('200: it goes on behind a sequence', async () => {
    const { lines } = await exportLines(world.app, owner, `${organizationAudit}/export?afterSequence=3`);
    expect(lines[0]).toMatchObject({ sequence: 4 });
    const whole = await exportLines(world.app, owner, `${organizationAudit}/export`);
    expect(whole.lines.slice(3)).toEqual(lines);
    const { length } = await verify(owner, organizationAudit);
    expect((await exportLines(world.app, owner, `${organizationAudit}/export?afterSequence=${length}`)).lines).toHaveLength(1);
  });

  test('409: a sequence that the chain does not have', async () => {
    const { length } = await verify(owner, organizationAudit);
    const { status, body } = await owner.call('GET', `${organizationAudit}/export?afterSequence=${length + 1}`);
    expect([status, body['_tag'], body['sequence']]).toEqual([409, 'CursorAhead', length]);
  });
});
