import { Client, type ClientConfig } from 'pg';
import { Violation } from './violation.js';
import { realPause } from './virtual-time.js';

/** `opens`: sent before it in the same turn. */
export type Statement = { readonly name?: string; readonly text: string; readonly values?: readonly unknown[]; readonly opens?: string };
export type Settled = { readonly rows: object[]; readonly rowCount: number | null } | { readonly error: unknown };

/** One real connection. At most one statement is on its way; between two of a transaction others may go. */
export class Session {
  inFlight = false;
  inTransaction = false;
  settled: Settled | null = null;
  /** As it was seen last. */
  blocked = false;
  answered: Promise<void> = Promise.resolve();
  private names = new Map<string, string>();

  private constructor(
    private readonly client: Client,
    readonly pid: number,
  ) {}

  static async open(connection: ClientConfig): Promise<Session> {
    const client = new Client({ ...connection, pipeline: true });
    client.on('error', () => undefined);
    await client.connect();
    // How long a statement may wait is the scheduler's to say, not the clock's.
    // And no turn waits for a disk.
    await client.query('set lock_timeout = 0; set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set synchronous_commit = off');
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    return new Session(client, rows[0]!.pid);
  }

  send({ name, text, values, opens }: Statement): void {
    this.inFlight = true;
    this.settled = null;
    this.blocked = false;
    if (opens) this.client.query(opens).catch(() => undefined);
    const prepared = name ?? (values ? this.nameOf(text) : undefined);
    this.answered = this.client.query({ text, ...(values ? { values: [...values] } : {}), ...(prepared ? { name: prepared } : {}) }).then(
      ({ rows, rowCount }) => void (this.settled = { rows: rows as object[], rowCount }),
      (error: unknown) => void (this.settled = { error }),
    );
  }

  async end(): Promise<void> {
    await this.client.end();
  }

  private nameOf(text: string): string {
    const known = this.names.get(text);
    if (known) return known;
    const name = `statement_${this.names.size + 1}`;
    this.names.set(text, name);
    return name;
  }
}

/** A world asks thousands of short questions: where the server has a socket on this machine, they take half the time of those through the network. */
export async function shortestWay(url: string, superuserUrl: string): Promise<ClientConfig> {
  const asking = new Client({ connectionString: superuserUrl });
  await asking.connect();
  const { rows } = await asking.query<{ folder: string }>(`select current_setting('unix_socket_directories') as folder`);
  await asking.end();
  const { hostname, port, username, password, pathname } = new URL(url);
  const host = rows[0]?.folder && ['127.0.0.1', 'localhost'].includes(hostname) ? rows[0].folder : hostname;
  return { host, port: Number(port), user: decodeURIComponent(username), password: decodeURIComponent(password), database: pathname.slice(1) };
}

/** The connections of one world, and a superuser's that looks who waits for whom. */
export class Sessions {
  private constructor(
    readonly all: readonly Session[],
    readonly observer: Client,
  ) {}

  static async open(url: string, observerUrl: string, count: number): Promise<Sessions> {
    const observer = new Client(await shortestWay(observerUrl, observerUrl));
    await observer.connect();
    const way = await shortestWay(url, observerUrl);
    return new Sessions(await Promise.all(Array.from({ length: count }, () => Session.open(way))), observer);
  }

  /**
   * Waits until every statement on its way was answered or is blocked. Whether one is blocked follows from who holds which lock, and never from time:
   * nobody else works meanwhile, and one picture of the server shows all of them waiting for connections of this world.
   */
  async settle(): Promise<void> {
    const open = (): Session[] => this.all.filter((session) => session.inFlight && !session.settled);
    // What is blocked stays so until some statement ends: without a new one nothing does.
    if (open().every(({ blocked }) => blocked)) return;
    // Nobody else holds anything: the one statement cannot be blocked.
    if (this.all.every((session) => session.inFlight || !session.inTransaction) && open().length === 1) await open()[0]!.answered;
    while (open().length > 0) {
      const moving = open().filter(({ blocked }) => !blocked);
      await Promise.race([Promise.all(moving.map(({ answered }) => answered)), realPause(1)]);
      const waiting = open();
      if (waiting.length === 0) return;
      const blockers = await this.blockersOf(waiting);
      const mine = new Set(this.all.map(({ pid }) => pid));
      for (const session of waiting) session.blocked = !session.settled && (blockers.get(session.pid) ?? []).some((pid) => mine.has(pid));
      if (!open().every(({ blocked }) => blocked) || open().length !== waiting.length) continue;
      const cycle = cycleIn(blockers);
      if (cycle) throw new Violation('deadlock', `connections ${cycle.map((pid) => this.all.findIndex((session) => session.pid === pid) + 1).join(' → ')} wait for each other`);
      return;
    }
  }

  private async blockersOf(waiting: readonly Session[]): Promise<ReadonlyMap<number, readonly number[]>> {
    const { rows } = await this.observer.query<{ pid: number; by: number[] }>({
      name: 'blocked',
      text: 'select p as pid, pg_blocking_pids(p) as by from unnest($1::int[]) p',
      values: [waiting.map(({ pid }) => pid)],
    });
    return new Map(rows.map(({ pid, by }) => [pid, by]));
  }

  /** Ends whatever a world left open. */
  async reset(): Promise<void> {
    if (this.all.every(({ inFlight, inTransaction }) => !inFlight && !inTransaction)) return;
    await this.observer.query('select pg_cancel_backend(pid) from unnest($1::int[]) pid', [this.all.filter((s) => s.inFlight && !s.settled).map(({ pid }) => pid)]);
    for (const session of this.all) {
      await session.answered;
      session.send({ text: 'rollback' });
      await session.answered;
      Object.assign(session, { inFlight: false, inTransaction: false, settled: null });
    }
  }

  async end(): Promise<void> {
    await Promise.all([this.observer.end(), ...this.all.map((session) => session.end())]);
  }
}

function cycleIn(blockers: ReadonlyMap<number, readonly number[]>): number[] | null {
  const walk = (pid: number, path: readonly number[]): number[] | null => {
    if (path.includes(pid)) return [...path.slice(path.indexOf(pid)), pid];
    for (const next of blockers.get(pid) ?? []) {
      const found = walk(next, [...path, pid]);
      if (found) return found;
    }
    return null;
  };
  for (const pid of blockers.keys()) {
    const found = walk(pid, []);
    if (found) return found;
  }
  return null;
}
