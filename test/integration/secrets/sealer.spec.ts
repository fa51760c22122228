import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { Config } from '@platform/config/config.js';
import { keyed } from '@platform/identity/command-key.js';
import { wrap } from '@platform/secrets/master-keys.js';
import { UnopenableValue } from '@platform/secrets/sealed-value.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

const masters = { old: { id: 'old', key: randomBytes(32) }, new: { id: 'new', key: randomBytes(32) } };
const binding = { table: 'chat_item', record: uuidv7() };

let database: TestDatabase;
let admin: Client;
beforeAll(async () => {
  database = await openTestDatabase();
  admin = new Client({ connectionString: database.url });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await database.close();
});

const node = (encryptionKeys = [masters.old], db = database.api): Sealer => new Sealer(db, new Config({ encryptionKeys } as unknown as Config));
const rows = async (organizationId: string): Promise<{ number: number; master_key_id: string }[]> =>
  (await admin.query<{ number: number; master_key_id: string }>('select number, master_key_id from organization_key where organization_id = $1 order by number', [organizationId]))
    .rows;

test('what is sealed opens under its binding, on every node and with either login', async () => {
  const organization = uuidv7();
  const key = await node().keyOf(organization);
  for (const plain of ['', 'text with 🧑‍🚀', 'x'.repeat(100_000)]) {
    const sealed = key.seal(binding, plain);
    expect(sealed.includes(Buffer.from('text with'))).toBe(false);
    expect((await node([masters.old], database.worker).keyOf(organization)).open(binding, sealed).toString()).toBe(plain);
  }
  const bytes = randomBytes(1_000);
  expect(key.open(binding, key.seal(binding, bytes))).toEqual(bytes);
});

test('two sealings of one value differ', async () => {
  const key = await node().keyOf(uuidv7());
  expect(key.seal(binding, 'same')).not.toEqual(key.seal(binding, 'same'));
});

test('a loaded key is there at once', async () => {
  const [sealer, organization] = [node(), uuidv7()];
  expect(sealer.keyOf(organization)).toBeInstanceOf(Promise);
  const key = await sealer.keyOf(organization);
  expect(sealer.keyOf(organization)).toBe(key);
});

test.each([
  ['another record', { ...binding, record: uuidv7() }],
  ['another table', { ...binding, table: 'chat' }],
  ['a binding whose parts run together', { table: `${binding.table}${binding.record.slice(0, 1)}`, record: binding.record.slice(1) }],
])('%s does not open it', async (_, other) => {
  const key = await node().keyOf(uuidv7());
  expect(() => key.open(other, key.seal(binding, 'secret'))).toThrow(UnopenableValue);
});

test('another organization does not open it, also with the first one’s data key in its row', async () => {
  const [mine, other] = [uuidv7(), uuidv7()];
  const sealed = (await node().keyOf(mine)).seal(binding, 'secret');
  await expect((async () => (await node().keyOf(other)).open(binding, sealed))()).rejects.toThrow(UnopenableValue);
  await admin.query('update organization_key set wrapped = (select wrapped from organization_key where organization_id = $1) where organization_id = $2', [mine, other]);
  await expect((async () => node().keyOf(other))()).rejects.toThrow();
});

test('no byte can be changed, cut or added', async () => {
  const key = await node().keyOf(uuidv7());
  const sealed = key.seal(binding, 'secret');
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    expect(() => key.open(binding, changed)).toThrow(UnopenableValue);
    expect(() => key.open(binding, sealed.subarray(0, at))).toThrow(UnopenableValue);
  }
  expect(() => key.open(binding, Buffer.concat([sealed, Buffer.from([0])]))).toThrow(UnopenableValue);
});

test('many nodes that are first at once agree on one key', async () => {
  const organization = uuidv7();
  const keys = await Promise.all(Array.from({ length: 8 }, async () => node().keyOf(organization)));
  expect(await rows(organization)).toEqual([{ number: 1, master_key_id: 'old' }]);
  for (const key of keys) expect(keys[0]?.open(binding, key.seal(binding, 'ours')).toString()).toBe('ours');
  expect(new Set(keys.map((key) => key.mac('text').toString('hex'))).size).toBe(1);
});

test('a new master key wraps new organizations, and the old one still opens', async () => {
  const [before, after] = [uuidv7(), uuidv7()];
  const sealed = (await node().keyOf(before)).seal(binding, 'old value');
  const rotated = [masters.new, masters.old];
  expect((await node(rotated).keyOf(before)).open(binding, sealed).toString()).toBe('old value');
  await node(rotated).keyOf(after);
  expect(await rows(after)).toEqual([{ number: 1, master_key_id: 'new' }]);
  await expect((async () => node([masters.new]).keyOf(before))()).rejects.toThrow('no key named "old"');
});

test('a second data key seals once every node can have read it; old values open, and MACs stay', async () => {
  const organization = uuidv7();
  const first = await node().keyOf(organization);
  const [sealed, mac] = [first.seal(binding, 'old value'), first.mac('text')];
  await admin.query('insert into organization_key (organization_id, number, wrapped, master_key_id) values ($1, 2, $2, $3)', [
    organization,
    wrap(masters.old, organization, { number: 2, key: randomBytes(32) }),
    'old',
  ]);
  const fresh = await node().keyOf(organization);
  expect(first.open(binding, fresh.seal(binding, 'still the first')).toString()).toBe('still the first');
  await admin.query(`update organization_key set created_at = created_at - interval '11 minutes' where organization_id = $1 and number = 2`, [organization]);
  const later = await node().keyOf(organization);
  expect(() => first.open(binding, later.seal(binding, 'the second'))).toThrow(UnopenableValue);
  expect(fresh.open(binding, later.seal(binding, 'the second')).toString()).toBe('the second');
  expect(later.open(binding, sealed).toString()).toBe('old value');
  expect(later.mac('text')).toEqual(mac);
});

test('records of no organization open with the platform’s keys, also after rotation', () => {
  const sealed = node().platform.seal(binding, 'cause');
  expect(node([masters.new, masters.old]).platform.open(binding, sealed).toString()).toBe('cause');
  expect(() => node([masters.new]).platform.open(binding, sealed)).toThrow(UnopenableValue);
});

test('a key is one tenant’s: another sees no row', async () => {
  const organization = uuidv7();
  await node().keyOf(organization);
  expect(await database.api.query('select 1 from organization_key')).toEqual([]);
});

test('a command is the same for equal inputs in any spelling, and another for every difference', async () => {
  const sealer = node();
  const identity = { context: { organizationId: uuidv7(), projectId: uuidv7() }, memberId: uuidv7() };
  const input = { chatId: 'c', input: [{ a: 1, b: undefined }], queue: false };
  const command = await keyed(sealer, identity, 'k', input);
  expect(await keyed(node(), identity, 'k', { queue: false, input: [{ a: 1 }], chatId: 'c' })).toEqual(command);
  expect(command).toMatchObject({ scopeId: identity.memberId, key: 'k' });
  const inputs = [{ ...input, chatId: 'd' }, { ...input, queue: true }, { ...input, input: [{ a: '1' }] }, { ...input, input: [] }, {}];
  for (const other of inputs) {
    const changed = await keyed(sealer, identity, 'k', other);
    expect(changed.keyMac).toEqual(command.keyMac);
    expect(changed.inputMac).not.toEqual(command.inputMac);
  }
  expect((await keyed(sealer, identity, 'other', input)).keyMac).not.toEqual(command.keyMac);
  expect((await keyed(sealer, { ...identity, memberId: uuidv7() }, 'k', input)).keyMac).not.toEqual(command.keyMac);
});
