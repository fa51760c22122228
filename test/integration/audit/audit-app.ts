import { Pool } from 'pg';
import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { eventually } from '@test/support/eventually.js';

export type ShownEntry = {
  readonly sequence: number;
  readonly id: string;
  readonly at: number;
  readonly action: string;
  readonly outcome: string;
  readonly actor: {
    readonly kind: string;
    readonly member: string | null;
    readonly credential: string | null;
    readonly onBehalfOf: string | null;
    readonly service: string | null;
  };
  readonly target: string | null;
  readonly project: string | null;
  readonly address: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly hash: string;
};
export type Verified = {
  readonly ok: boolean;
  readonly length: number;
  readonly head: string;
  readonly checked: number;
  readonly unlinked: number;
  readonly firstBroken: { readonly sequence: number; readonly reason: string } | null;
};

export type AuditApp = {
  readonly database: TestDatabase;
  readonly app: TestApp;
  readonly superuser: Pool;
  /** Waits until everything that was told has its place. */
  linked(): Promise<void>;
  close(): Promise<void>;
};

export async function startAuditApp(): Promise<AuditApp> {
  const database = await openTestDatabase(4);
  const app = await startTestApp(database);
  const superuser = new Pool({ connectionString: database.url, max: 4 });
  return {
    database,
    app,
    superuser,
    linked: async () => void (await eventually(async () => (await superuser.query('select 1 from audit_inbox')).rowCount === 0)),
    close: async () => {
      await Promise.all([app.close(), superuser.end()]);
      await database.close();
    },
  };
}

export const organizationAudit = '/v1/organization/audit';

export async function projectOf(caller: Caller): Promise<string> {
  const { body } = await caller.call('GET', '/v1/projects');
  return (body['items'] as { id: string }[])[0]!.id;
}

/** All entries of a chain, oldest first. */
export async function entriesOf(caller: Caller, path: string): Promise<ShownEntry[]> {
  const { status, body } = await caller.call('GET', `${path}?limit=100`);
  if (status !== 200) throw new Error(`${path} answers ${status}`);
  return (body['items'] as ShownEntry[]).toReversed();
}

export const verify = async (caller: Caller, path: string, query = ''): Promise<Verified> => (await caller.call('GET', `${path}/verify${query}`)).body as unknown as Verified;

/** The lines of an export, whatever their kind. */
export async function exportLines(
  app: TestApp,
  caller: Caller,
  path: string,
): Promise<{ readonly status: number; readonly text: string; readonly lines: Record<string, unknown>[] }> {
  const response = await fetch(`${app.url}${path}`, { headers: { authorization: `Bearer ${caller.token}` } });
  const text = await response.text();
  return {
    status: response.status,
    text,
    lines: text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}
