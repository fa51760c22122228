import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { hasEnded, type ExecutionState } from '@domain/executions/state.js';
import type { IdKind } from '@domain/ids.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import { goodPassword, setupLink, signedIn, type Browser } from '@test/support/browser.js';
import { openTestDatabase } from '@test/support/database.js';
import { eventually } from '@test/support/eventually.js';
import { documentOf, operationsOf, type Document, type Operation } from './every-route-document.js';

/** Ids for the parameters of paths, by the parameter's name. */
export type Ids = Readonly<Record<string, string>>;

export const kindOfParameter: Readonly<Record<string, IdKind>> = {
  botId: 'bot',
  chatId: 'chat',
  turnId: 'turn',
  executionId: 'execution',
  tokenId: 'token',
  keyId: 'apiKey',
  serviceAccountId: 'member',
  accountTokenId: 'token',
  connectionId: 'connection',
  projectId: 'project',
  memberId: 'member',
  purgeId: 'purge',
  providerId: 'identityProvider',
  domainId: 'domain',
  sessionId: 'session',
  invitationId: 'invitation',
  scimTokenId: 'scimToken',
};
export const missingId = (parameter: string): string => toPublicId(kindOf(parameter), uuidv7());
export function kindOf(parameter: string): IdKind {
  const kind = kindOfParameter[parameter];
  if (!kind) throw new Error(`no kind of id is known for the parameter ${parameter}: add it`);
  return kind;
}

/** Somebody with one of everything that routes name. */
export type Tenant = {
  readonly owner: Caller;
  readonly ids: Ids;
  readonly member: Caller;
  /** The owner's, in which they are signed in. */
  readonly browser: Browser;
  readonly password: string;
  /** That another owner may set a password by. */
  readonly link: string;
  /** What the link of an open invitation carries. */
  readonly invitation: string;
};

export type EveryRoute = {
  readonly app: TestApp;
  readonly document: Document;
  readonly operations: readonly Operation[];
  readonly outside: Pool;
  readonly mine: Tenant;
  readonly theirs: Tenant;
  /** Everything that is stored, table by table, but for the beats of the nodes, when a token was last used, and how often anybody may ask. */
  stored(): Promise<Readonly<Record<string, string>>>;
  close(): Promise<void>;
};

const development = { provider: 'development', model: 'mock-text' };

async function furnish(app: TestApp): Promise<Tenant> {
  const owner = await app.createTenant();
  const made = async (method: string, path: string, body?: object): Promise<Record<string, string>> => {
    const answer = await owner.call(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.body as Record<string, string>;
  };
  const member = await app.createMember(owner);
  const browser = await signedIn(app, owner);
  const sessions = (await browser.ask('GET', '/v1/me/sessions')).body as { items?: { id: string }[] };
  const second = await app.createMember(owner, 'owner', 'second@example.com');
  const invited = await made('POST', '/v1/organization/invitations', { email: 'invited@example.com', passwordSignIn: true });
  const open = await made('POST', '/v1/organization/invitations', { email: 'open@example.com' });
  const bot = await made('POST', '/v1/bots', { name: 'Planner', model: development });
  const receipt = await made('POST', `/v1/bots/${bot['id']}/messages`, { input: 'Hello', commandKey: 'first' });
  const projects = (await owner.call('GET', '/v1/projects')).body as { items?: { id: string }[] };
  const deleted = await made('POST', '/v1/projects', { name: 'Deleted' });
  const purge = await made('DELETE', `/v1/projects/${deleted['id']}?expected=1`);
  const token = await made('POST', '/v1/me/tokens', { name: 'Phone' });
  const key = await made('POST', '/v1/api-keys', { name: 'Deployments', scopes: ['bots.read'] });
  const account = await made('POST', '/v1/organization/service-accounts', { name: 'Deployments' });
  const accountToken = await made('POST', `/v1/organization/service-accounts/${account['id']}/tokens`, { name: 'First' });
  const connection = await made('POST', '/v1/model-connections', { kind: 'openai', name: 'Ours', apiKey: 'sk-test', models: [{ id: 'scripted' }] });
  const provider = await made('POST', '/v1/organization/identity-providers', { name: 'Ours', issuer: 'http://127.0.0.1:9', clientId: 'openbot', clientSecret: 'secret' });
  const scimToken = await made('POST', `/v1/organization/identity-providers/${provider['id']}/scim-tokens`, { name: 'Ours' });
  const domain = await made('POST', '/v1/organization/domains', { domain: 'ours.example', identityProvider: provider['id'] });
  await eventually(
    async () => (await owner.call('GET', `/v1/executions/${receipt['executionId']}`)).body['state'] as ExecutionState,
    (state) => hasEnded(state),
    30_000,
  );
  await eventually(
    async () => (await owner.call('GET', `/v1/organization/project-purges/${purge['purge']}`)).body['state'],
    (state) => state === 'completed',
    30_000,
  );
  return {
    owner,
    member,
    browser,
    password: goodPassword,
    invitation: invited['link']!.split('#token=')[1]!,
    link: await setupLink(app, second),
    ids: {
      botId: bot['id']!,
      chatId: receipt['chat']!,
      turnId: receipt['turn']!,
      executionId: receipt['executionId']!,
      tokenId: token['id']!,
      keyId: key['id']!,
      serviceAccountId: account['id']!,
      accountTokenId: accountToken['id']!,
      connectionId: connection['id']!,
      projectId: projects.items![0]!.id,
      memberId: member.memberId,
      purgeId: purge['purge']!,
      providerId: provider['id']!,
      domainId: domain['id']!,
      scimTokenId: scimToken['id']!,
      invitationId: open['id']!,
      sessionId: sessions.items![0]!.id,
    },
  };
}

/** What browsers and providers do in the terms of OpenID Connect, and not of this API: `test/integration/identity-providers` holds them to it. */
export const ofBrowsers: readonly string[] = ['startSignIn', 'finishOidcSignIn', 'logOutByProvider'];

/** What the program of a directory says in the terms of SCIM, with a token of its own: `test/integration/provisioning` holds these routes to it. */
export const isOfDirectories = ({ 'x-permission': permission }: Pick<Operation, 'x-permission'>): boolean => permission === 'directory';

/** The real server with two tenants that have one of everything. */
export async function openEveryRoute(): Promise<EveryRoute> {
  const database = await openTestDatabase(4);
  const app = await startTestApp(database);
  const outside = new Pool({ connectionString: database.url, max: 2 });
  const document = documentOf(app.nest);
  const tables = (
    await outside.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname not in ('node', 'rate_bucket')`,
    )
  ).rows;
  const digest = tables
    .map(
      ({ name }) =>
        `select '${name}' as name, count(*) || ' ' || coalesce(md5(string_agg(row, ',' order by row)), '') as rows from (select (to_jsonb(t) - 'last_used_at' - 'idle_until')::text as row from "${name}" t) as whole`,
    )
    .join(' union all ');
  return {
    app,
    document,
    operations: operationsOf(document).filter((operation) => !ofBrowsers.includes(operation.operationId) && !isOfDirectories(operation)),
    outside,
    mine: await furnish(app),
    theirs: await furnish(app),
    stored: async () => {
      // The feed and the audit log take in what was told a moment ago.
      await eventually(async () => (await outside.query('select 1 from product_event_inbox union all select 1 from audit_inbox')).rowCount === 0);
      return Object.fromEntries((await outside.query<{ name: string; rows: string }>(digest)).rows.map(({ name, rows }) => [name, rows]));
    },
    close: async () => {
      await Promise.all([app.close(), outside.end()]);
      await database.close();
    },
  };
}

export type Sent = {
  readonly status: number;
  readonly text: string;
  readonly tag: string | null;
  /** The fields that a refusal names, the first violation's first. */
  readonly fields: readonly string[];
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
};
export type Sending = { readonly token?: string | null; readonly headers?: Readonly<Record<string, string>>; readonly body?: string | Buffer; readonly query?: string };

/** The path of an operation with its parameters filled in as they are: what is to be escaped comes escaped. */
export const pathOf = ({ path }: Operation, ids: Ids): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const id = ids[name];
    if (id === undefined) throw new Error(`nothing is known of the parameter ${name}: add it to what a tenant has`);
    return id;
  });

export async function send(world: EveryRoute, operation: Operation, ids: Ids, { token = world.mine.owner.token, headers = {}, body, query = '' }: Sending = {}): Promise<Sent> {
  const response = await fetch(`${world.app.url}${pathOf(operation, ids)}${query}`, {
    method: operation.method,
    headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: body as string }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  const parsed = (isJson && text !== '' ? JSON.parse(text) : {}) as Sent['body'] & Refusal;
  const fields = [...(parsed.field === undefined ? [] : [parsed.field]), ...(parsed.violations ?? []).map(({ field }) => field)];
  return { status: response.status, text, tag: typeof parsed._tag === 'string' ? parsed._tag : null, fields, body: parsed, headers: response.headers };
}

type Refusal = { readonly _tag?: string; readonly field?: string; readonly violations?: readonly { readonly field: string }[] };
