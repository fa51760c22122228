import { toPublicId } from '@platform/ids/typeid.js';
import { bodySchemaOf, parametersOf, resolve, type Document, type Operation, type Schema } from './every-route-document.js';
import type { Tenant } from './every-route-world.js';

type Body = Readonly<Record<string, unknown>>;

let keys = 0;
const commandKey = (): string => `every-${(keys += 1)}`;

/** A body that each operation accepts, with every field of it. A new operation that takes a body gets its line here. */
export const goodBodies: Readonly<Record<string, (tenant: Tenant) => Body>> = {
  signIn: ({ owner, password }) => ({ organization: toPublicId('organization', owner.organizationId), email: 'olivia@example.com', password }),
  setUpAccount: ({ link, password }) => ({ token: link, password, name: 'Ada' }),
  changePassword: ({ password }) => ({ current: password, new: password }),
  allowPassword: () => ({ allowed: false }),
  changeSettings: ({ ids }) => ({ expectedVersion: 0, defaultBot: ids['botId'] }),
  createToken: ({ ids }) => ({ name: 'Laptop', scopes: ['bots.read'], projects: [ids['projectId']], expiresInMs: 3_600_000 }),
  rotateToken: () => ({ overlapMs: 60_000 }),
  createApiKey: ({ ids }) => ({ name: 'Deployments', scopes: ['bots.read', 'bots.delegate'], projects: [ids['projectId']], expiresInMs: 3_600_000 }),
  rotateApiKey: () => ({ overlapMs: 0 }),
  createServiceAccount: () => ({ name: 'Deployments', role: 'member' }),
  createServiceAccountToken: ({ ids }) => ({ name: 'First', scopes: ['bots.read'], projects: [ids['projectId']], expiresInMs: 3_600_000 }),
  rotateServiceAccountToken: () => ({ overlapMs: 60_000 }),
  createInvitation: ({ ids }) => ({
    email: `${commandKey()}@example.com`,
    name: 'Ada',
    role: 'member',
    projects: [{ id: ids['projectId'], role: 'viewer' }],
    passwordSignIn: true,
    expiresInMs: 3_600_000,
  }),
  renewInvitation: () => ({ expiresInMs: 3_600_000 }),
  lookAtInvitation: ({ invitation }) => ({ token: invitation }),
  acceptInvitation: ({ invitation, password }) => ({ token: invitation, name: 'Ada', password }),
  renameOrganization: () => ({ expected: 1, name: 'Renamed Ltd' }),
  createProject: () => ({ name: 'Research' }),
  renameProject: () => ({ expected: 1, name: 'Renamed' }),
  setProjectMembers: ({ member }) => ({ expected: 1, members: [{ member: member.memberId, role: 'viewer' }] }),
  changeMember: () => ({ expected: 1, name: 'Adele', role: 'viewer', suspended: false }),
  createModelConnection: () => ({
    kind: 'openai-compatible',
    name: `Server ${commandKey()}`,
    baseUrl: 'http://127.0.0.1:9/v1',
    api: 'chat',
    apiKey: 'sk-another',
    models: [{ id: 'small', name: 'Small', contextWindow: 8_000, reasoningEfforts: ['low'] }],
  }),
  changeModelConnection: () => ({
    expected: 1,
    name: `Server ${commandKey()}`,
    baseUrl: null,
    api: 'responses',
    apiKey: 'sk-changed',
    models: [{ id: 'large', name: 'Large', contextWindow: null, reasoningEfforts: [] }],
  }),
  createIdentityProvider: () => ({
    name: `Provider ${commandKey()}`,
    issuer: 'http://127.0.0.1:9/issuer',
    clientId: 'openbot',
    clientSecret: 'secret',
    scopes: ['openid', 'email'],
    groupsClaim: 'groups',
    admits: false,
    defaultRole: null,
    groupRoles: [{ group: 'it', role: 'admin' }],
    enabled: true,
  }),
  changeIdentityProvider: () => ({
    expected: 1,
    name: `Provider ${commandKey()}`,
    issuer: 'http://127.0.0.1:9/other',
    clientId: 'other',
    clientSecret: 'other',
    scopes: ['openid'],
    groupsClaim: 'roles',
    admits: true,
    defaultRole: 'viewer',
    groupRoles: [{ group: 'it', role: 'member' }],
    enabled: false,
  }),
  createScimToken: () => ({ name: 'Directory', expiresInMs: 60_000 }),
  claimDomain: ({ ids }) => ({ domain: `${commandKey()}.example`, identityProvider: ids['providerId'] }),
  listSignInOptions: ({ owner }) => ({ email: 'ada@example.com', organization: toPublicId('organization', owner.organizationId) }),
  createBot: () => ({ name: 'Writer', instructions: 'Write.', model: { _tag: 'Config.Selection', provider: 'development', model: 'mock-text' }, maxSteps: 5 }),
  changeBot: () => ({ expected: 1, name: 'Author', instructions: 'Write well.', model: { provider: 'development', model: 'mock-text' }, maxSteps: 6 }),
  setBotGrants: ({ member }) => ({ expected: 1, grants: [{ member: member.memberId, rights: ['read', 'delegate'] }] }),
  cancelExecution: () => ({ commandKey: commandKey() }),
  decideExecutionCall: () => ({ commandKey: commandKey(), call: { step: 1, name: 'model', attempt: 1 }, decision: 'result', result: { text: 'it was sent' } }),
  sendBotMessage: () => ({ input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }], commandKey: commandKey(), queue: false }),
  sendChatMessage: () => ({ input: 'Hello again', commandKey: commandKey(), queue: true }),
  interruptChat: () => ({ commandKey: commandKey(), delegations: false }),
  replaceTodos: () => ({ revision: 0, items: [{ id: 'fix', content: 'Fix it', status: 'pending' }] }),
};

/** What else the operation needs, beside its path, to be answered by what the path names. */
export function goodRequest(operation: Operation, tenant: Tenant): { readonly body?: string; readonly query?: string } {
  const needed = parametersOf(operation, 'query').filter(({ required }) => required);
  const make = goodBodies[operation.operationId];
  return {
    ...(bodySchemaOf(operation) && make ? { body: JSON.stringify(make(tenant)) } : {}),
    ...(needed.length > 0 ? { query: `?${needed.map(({ name }) => `${name}=1`).join('&')}` } : {}),
  };
}

/** A body with one fault, and the field that is at fault. */
export type Fault = { readonly what: string; readonly field: string; readonly body: unknown };

const wrongTypes: Readonly<Record<string, readonly unknown[]>> = {
  string: [7, true, {}, ['x']],
  integer: ['1', 1.5, true, {}, [1]],
  number: ['1', true, {}],
  boolean: ['true', 1, {}, []],
  array: ['x', 7, {}],
  object: ['x', 7, [], [{}]],
};

/** Values that a schema does not allow, each with its name. */
function badValues(schema: Schema): (readonly [string, unknown])[] {
  const types = (schema.oneOf ?? schema.anyOf ?? [schema]).map(({ type, properties }) => type ?? (properties ? 'object' : 'any'));
  const wrong = types.includes('any')
    ? []
    : ([7, true, {}, ['x'], 'x', [], 1.5] as const).filter((value) => types.every((type) => (wrongTypes[type] ?? []).some((bad) => JSON.stringify(bad) === JSON.stringify(value))));
  const bad: (readonly [string, unknown])[] = wrong.map((value) => [`${JSON.stringify(value)} for ${types.join(' or ')}`, value]);
  if (!schema.nullable && !types.includes('any')) bad.push(['null', null]);
  if (schema.enum) bad.push(['another word', 'nonsense'], ['the name of a member that every object has', 'constructor']);
  if (schema.maxLength !== undefined) bad.push(['too long', 'k'.repeat(schema.maxLength + 1)], ['far too long', 'k'.repeat(200_000)]);
  if (schema.minLength) bad.push(['too short', '']);
  if (schema.minimum !== undefined) bad.push(['too small', schema.minimum - 1]);
  if (schema.type === 'integer') bad.push(['too large', (schema.maximum ?? 2 ** 31 - 1) + 1], ['far too large', Number.MAX_SAFE_INTEGER]);
  return bad;
}

const pathTo = (parent: string, name: string | number): string => (typeof name === 'number' ? `${parent}[${name}]` : parent === '' ? name : `${parent}.${name}`);

/** Every value inside a good body put wrong, one at a time, as `replace` puts it back into the whole. */
function faultsAt(document: Document, given: Schema, value: unknown, field: string, replace: (wrong: unknown) => unknown): Fault[] {
  const schema = resolve(document, given);
  const own = field === '' ? [] : badValues(schema).map(([what, wrong]) => ({ what, field, body: replace(wrong) }));
  if (Array.isArray(value)) return [...own, ...elementFaults(document, schema, value, field, replace)];
  const properties = schema.properties ?? schema.oneOf?.map((choice) => resolve(document, choice)).find((choice) => choice.properties)?.properties;
  if (value === null || typeof value !== 'object' || !properties) return own;
  return [...own, ...memberFaults(document, { ...schema, properties }, value as Body, field, replace)];
}

function elementFaults(document: Document, schema: Schema, value: readonly unknown[], field: string, replace: (wrong: unknown) => unknown): Fault[] {
  const items = schema.items ?? schema.oneOf?.find((choice) => choice.type === 'array')?.items;
  const bounds = schema.items ? schema : (schema.oneOf?.find((choice) => choice.type === 'array') ?? schema);
  return [
    ...(bounds.maxItems === undefined ? [] : [{ what: 'too many', field, body: replace(Array(bounds.maxItems + 1).fill(value[0])) }]),
    ...(bounds.minItems ? [{ what: 'none', field, body: replace([]) }] : []),
    ...(items && value.length > 0 ? faultsAt(document, items, value[0], pathTo(field, 0), (wrong) => replace([wrong, ...value.slice(1)])) : []),
  ];
}

function memberFaults(document: Document, { properties = {}, required = [] }: Schema, value: Body, field: string, replace: (wrong: unknown) => unknown): Fault[] {
  const set = (name: string, member: unknown) => replace({ ...value, [name]: member });
  return [
    { what: 'unknown', field: pathTo(field, 'surprise'), body: set('surprise', 1) },
    ...required.map((name) => ({ what: 'missing', field: pathTo(field, name), body: set(name, undefined) })),
    ...Object.entries(properties).flatMap(([name, schema]) => faultsAt(document, schema, value[name], pathTo(field, name), (wrong) => set(name, wrong))),
  ];
}

/** Every field of a good body missing, of another type, too long, too large, or beside one that nobody knows. */
export const faultsOf = (document: Document, schema: Schema, good: Body): Fault[] => faultsAt(document, schema, good, '', (wrong) => wrong);

export type RawFault = {
  readonly what: string;
  readonly body: string | Buffer;
  readonly status: number;
  readonly tag: string;
  readonly field?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Bodies that are not what their header says, or hold what nobody can store. `first` is a field of the good body. */
export function rawFaultsOf(good: Body): RawFault[] {
  const json = JSON.stringify(good);
  const [first] = Object.keys(good);
  if (first === undefined) throw new Error('a good body has at least one field');
  const name = JSON.stringify(first);
  const rest = json.slice(1, -1);
  const withFirst = (value: string): string =>
    `{${[
      `${name}:${value}`,
      ...Object.entries(good)
        .slice(1)
        .map(([key, member]) => `${JSON.stringify(key)}:${JSON.stringify(member)}`),
    ].join(',')}}`;
  const invalid = (what: string, body: string | Buffer, field?: string): RawFault => ({ what, body, status: 400, tag: 'InvalidInput', ...(field === undefined ? {} : { field }) });
  return [
    { what: 'two MiB', body: withFirst(JSON.stringify('k'.repeat(2_097_152))), status: 413, tag: 'BodyTooLarge' },
    ...['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/xml', 'nonsense'].map((type) => ({
      what: type,
      body: json,
      status: 415,
      tag: 'UnsupportedMediaType',
      headers: { 'content-type': type },
    })),
    invalid('invalid UTF-8', Buffer.concat([Buffer.from(`{${name}:"`), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]), 'body'),
    invalid('a half character of UTF-16 in UTF-8', Buffer.concat([Buffer.from(`{${name}:"`), Buffer.from([0xed, 0xa0, 0xbd]), Buffer.from('"}')]), 'body'),
    invalid('another encoding', Buffer.from(json, 'utf16le')),
    invalid('a byte order mark', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(json)]), 'body'),
    invalid('half of it', json.slice(0, Math.ceil(json.length / 2))),
    invalid('two of them', `${json}${json}`, 'body'),
    invalid('a comma too many', `{${rest},}`, 'body'),
    invalid('single quotes', json.replaceAll('"', "'"), 'body'),
    invalid('no number', withFirst('NaN'), first),
    invalid('NUL', withFirst('"a\\u0000b"'), first),
    invalid('a bare NUL', withFirst('"a\0b"'), first),
    invalid('a high half', withFirst('"a\\ud800b"'), first),
    invalid('a low half', withFirst('"a\\udc00b"'), first),
    invalid('halves in the wrong order', withFirst('"\\udc00\\ud800"'), first),
    invalid('NUL in a name', `{"a\\u0000":1,${rest}}`),
    invalid('a half in a name', `{"a\\ud800":1,${rest}}`),
    invalid('10,000 lists in each other', withFirst(`${'['.repeat(10_000)}${']'.repeat(10_000)}`), first),
    invalid('10,000 objects in each other', withFirst(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`), first),
    invalid('a field given twice', `{${name}:${JSON.stringify(good[first])},${rest}}`, first),
    invalid('a field given twice in two spellings', `{"\\u${first.charCodeAt(0).toString(16).padStart(4, '0')}${first.slice(1)}":1,${rest}}`, first),
    invalid('__proto__', `{"__proto__":{"admin":true},${rest}}`, '__proto__'),
    invalid('constructor', `{"constructor":{"prototype":{"admin":true}},${rest}}`, 'constructor'),
    invalid('a number beyond all', withFirst('1e999'), first),
    invalid('nothing', ''),
    invalid('white space', ' \n', 'body'),
    invalid('null', 'null', 'body'),
    invalid('a list', `[${json}]`, 'body'),
    invalid('a text', JSON.stringify(json), 'body'),
  ];
}
