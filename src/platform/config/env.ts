import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { routeClasses, type RouteClass } from '@domain/access/route-classes.js';
import { fail, ok, type Result } from '@domain/result.js';
import { Config, type ProviderSettings, type S3Settings } from './config.js';

export type Environment = Readonly<Record<string, string | undefined>>;
/** `variable` and what is expected of it; a value is never part of it. */
export type BadVariable = { readonly _tag: 'BadVariable'; readonly variable: string; readonly expected: string };

class Refused extends Error {
  constructor(
    readonly variable: string,
    readonly expected: string,
  ) {
    super(`${variable} ${expected}`);
  }
}

/** Every variable that the program reads. An `OPENBOT_` one that is not here is a typing error that would be obeyed by nobody. */
const known = [
  'NODE_ENV', 'PORT', 'HOST', 'WAKE', 'REDIS_URL', 'DATABASE_URL', 'DATABASE_API_URL', 'DATABASE_WORKER_URL', 'DATABASE_API_CONNECTIONS', 'DATABASE_WORKER_CONNECTIONS',
  'OPENBOT_ENCRYPTION_KEYS', 'OPENBOT_ROLES', 'OPENBOT_NODE', 'OPENBOT_LEASE_MS', 'OPENBOT_GRACE_MS', 'OPENBOT_WORKER_SLOTS', 'OPENBOT_DEBUG_POINT', 'OPENBOT_EGRESS_ALLOW', 'OPENBOT_LOG_LEVEL',
  'OPENBOT_PUBLIC_URL', 'OPENBOT_SESSION_IDLE_MS', 'OPENBOT_SESSION_MS',
  'OPENBOT_PRIVATE_PORT', 'OPENBOT_PRIVATE_HOST', 'OPENBOT_EGRESS_TRACE', 'OPENBOT_DNS_SERVERS', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_SERVICE_NAME', 'OTEL_SDK_DISABLED',
  'OPENBOT_LIMIT_READ', 'OPENBOT_LIMIT_WRITE', 'OPENBOT_LIMIT_MESSAGE', 'OPENBOT_LIMIT_STREAM', 'OPENBOT_LIMIT_ADMIN', 'OPENBOT_LIMIT_AUDIT', 'OPENBOT_LIMIT_PROVISIONING', 'OPENBOT_LIMIT_UNAUTHENTICATED', 'OPENBOT_OPEN_STREAMS',
  'OPENBOT_TRUSTED_PROXIES',
  'OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_MODEL', 'OPENAI_API', 'ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL', 'ANTHROPIC_MODEL',
  'OPENBOT_OBJECTS', 'S3_BUCKET', 'S3_REGION', 'S3_ENDPOINT', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY',
] as const; // prettier-ignore
type Variable = (typeof known)[number];

/** An empty variable is an absent one: deployment tools cannot leave one out. */
function text(env: Environment, variable: Variable): string | null {
  const value = env[variable]?.trim();
  return value ? value : null;
}

function line(env: Environment, variable: Variable, maxLength: number): string | null {
  const value = text(env, variable);
  if (value !== null && (value.length > maxLength || /[^\x20-\x7e]/.test(value))) throw new Refused(variable, `must be at most ${maxLength} printable ASCII characters`);
  return value;
}

function integer(env: Environment, variable: Variable, fallback: number, least: number, most: number): number {
  const value = text(env, variable);
  if (value === null) return fallback;
  if (!/^\d{1,10}$/.test(value) || Number(value) < least || Number(value) > most) throw new Refused(variable, `must be a whole number from ${least} to ${most}`);
  return Number(value);
}

function oneOf<T extends string>(env: Environment, variable: Variable, allowed: readonly T[], fallback: T): T {
  const value = text(env, variable) ?? fallback;
  if (!(allowed as readonly string[]).includes(value)) throw new Refused(variable, `must be one of: ${allowed.join(', ')}`);
  return value as T;
}

function url(env: Environment, variable: Variable, protocols: readonly string[]): string | null {
  const value = text(env, variable);
  if (value === null) return null;
  const protocol = URL.canParse(value) ? new URL(value).protocol : '';
  if (!protocols.includes(protocol)) throw new Refused(variable, `must be a URL that begins with ${protocols.map((name) => `${name}//`).join(' or ')}`);
  return value;
}

const databaseUrl = (env: Environment, variable: Variable): string | null => {
  const value = url(env, variable, ['postgres:', 'postgresql:']);
  if (value === null) return null;
  const { username, pathname, searchParams } = new URL(value);
  if (!username && !searchParams.get('user')) throw new Refused(variable, 'must name a user: postgres://user:password@host:5432/database');
  if (pathname.length < 2) throw new Refused(variable, 'must name a database: postgres://user:password@host:5432/database');
  // Connections may pass through poolers that forward no start-up options.
  if (searchParams.has('options')) throw new Refused(variable, 'must not have the parameter "options"');
  return value;
};

const redisUrl = (env: Environment): string | null => {
  const value = url(env, 'REDIS_URL', ['redis:', 'rediss:']);
  // The client would take parameters for settings of its own, and prefer them to ours.
  if (value !== null && new URL(value).search !== '') throw new Refused('REDIS_URL', 'must not have parameters: redis://user:password@host:6379/0');
  return value;
};

/** Where there is a Redis, it was given for this. */
function wake(env: Environment): Pick<Config, 'wake' | 'redisUrl'> {
  const address = redisUrl(env);
  const channel = oneOf(env, 'WAKE', ['redis', 'notify', 'none'], address === null ? 'notify' : 'redis');
  if (channel === 'redis' && address === null) throw new Refused('REDIS_URL', 'must be set when WAKE is redis');
  return { wake: channel, redisUrl: address };
}

function encryptionKeys(env: Environment): Config['encryptionKeys'] {
  const expected = 'must be a comma separated list of <id>:<base64 of 32 bytes>, with ids of 1 to 32 letters, digits, "-" or "_"';
  const keys = (text(env, 'OPENBOT_ENCRYPTION_KEYS') ?? '')
    .split(',')
    .filter((entry) => entry.trim() !== '')
    .map((entry) => {
      const [, id, encoded] = /^([\w-]{1,32}):([A-Za-z0-9+/]{43}=)$/.exec(entry.trim()) ?? [];
      if (!id || !encoded) throw new Refused('OPENBOT_ENCRYPTION_KEYS', expected);
      return { id, key: Buffer.from(encoded, 'base64') };
    });
  if (new Set(keys.map(({ id }) => id)).size < keys.length) throw new Refused('OPENBOT_ENCRYPTION_KEYS', 'must not use an id twice');
  if (new Set(keys.map(({ key }) => createHash('sha256').update(key).digest('hex'))).size < keys.length) throw new Refused('OPENBOT_ENCRYPTION_KEYS', 'must not hold a key twice');
  return keys;
}

function provider(env: Environment, name: 'OPENAI' | 'ANTHROPIC'): ProviderSettings | null {
  const apiKey = line(env, `${name}_API_KEY`, 512);
  const baseUrl = url(env, `${name}_BASE_URL`, ['http:', 'https:']);
  const model = line(env, `${name}_MODEL`, 200);
  const api = name === 'OPENAI' ? oneOf(env, 'OPENAI_API', ['responses', 'chat'], 'responses') : 'responses';
  return apiKey === null ? null : { apiKey, baseUrl, model, api };
}

function roles(env: Environment): Config['roles'] {
  const named = (text(env, 'OPENBOT_ROLES') ?? 'api,worker').split(',').map((role) => role.trim());
  if (named.some((role) => role !== 'api' && role !== 'worker')) throw new Refused('OPENBOT_ROLES', 'must be api, worker, or both separated by a comma');
  return { api: named.includes('api'), worker: named.includes('worker') };
}

const isHostOrNetwork = (entry: string): boolean => /^[a-z0-9.:_-]{1,253}(\/\d{1,3})?$/i.test(entry);

function egressAllow(env: Environment): readonly string[] {
  const entries = (text(env, 'OPENBOT_EGRESS_ALLOW') ?? '').split(',').map((entry) => entry.trim()).filter((entry) => entry !== ''); // prettier-ignore
  if (!entries.every(isHostOrNetwork)) throw new Refused('OPENBOT_EGRESS_ALLOW', 'must be a comma separated list of host names, addresses or networks such as 10.0.0.0/8');
  return entries;
}

function egressTrace(env: Environment): readonly string[] {
  const hosts = (text(env, 'OPENBOT_EGRESS_TRACE') ?? '').split(',').map((host) => host.trim().toLowerCase()).filter((host) => host !== ''); // prettier-ignore
  if (!hosts.every((host) => isHostOrNetwork(host) && !host.includes('/'))) throw new Refused('OPENBOT_EGRESS_TRACE', 'must be a comma separated list of host names');
  return hosts;
}

function s3(env: Environment): S3Settings | null {
  const bucket = line(env, 'S3_BUCKET', 63);
  if (bucket === null) return null;
  if (!/^[a-z0-9][a-z0-9.-]{2,62}$/.test(bucket)) throw new Refused('S3_BUCKET', 'must be the name of a bucket: 3 to 63 lower case letters, digits, "." or "-"');
  const endpoint = url(env, 'S3_ENDPOINT', ['http:', 'https:']);
  if (endpoint !== null && new URL(endpoint).username !== '') throw new Refused('S3_ENDPOINT', 'must not hold credentials: S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY do');
  const [accessKeyId, secretAccessKey] = [line(env, 'S3_ACCESS_KEY_ID', 200), line(env, 'S3_SECRET_ACCESS_KEY', 200)];
  if (accessKeyId === null) throw new Refused('S3_ACCESS_KEY_ID', 'must be set when S3_BUCKET is');
  if (secretAccessKey === null) throw new Refused('S3_SECRET_ACCESS_KEY', 'must be set when S3_BUCKET is');
  return { bucket, region: line(env, 'S3_REGION', 50) ?? 'us-east-1', endpoint, accessKeyId, secretAccessKey };
}

/** A folder is one machine's: production has a bucket, or nothing that needs one. */
function objects(env: Environment, production: boolean): Config['objects'] {
  const bucket = s3(env);
  const folder = line(env, 'OPENBOT_OBJECTS', 1_000);
  if (folder !== null && bucket !== null) throw new Refused('OPENBOT_OBJECTS', 'must not be set together with S3_BUCKET');
  if (folder !== null && production) throw new Refused('OPENBOT_OBJECTS', 'must not be set when NODE_ENV is production: other nodes do not see this folder; set S3_BUCKET');
  return bucket ?? (production ? null : { folder: folder ?? '.openbot/objects' });
}

function limits(env: Environment): Config['limits'] {
  const perMinute = (variable: Variable, name: RouteClass): number => integer(env, variable, routeClasses[name].perMinute, 0, 1_000_000);
  return {
    read: perMinute('OPENBOT_LIMIT_READ', 'read'),
    write: perMinute('OPENBOT_LIMIT_WRITE', 'write'),
    message: perMinute('OPENBOT_LIMIT_MESSAGE', 'message'),
    stream: perMinute('OPENBOT_LIMIT_STREAM', 'stream'),
    admin: perMinute('OPENBOT_LIMIT_ADMIN', 'admin'),
    audit: perMinute('OPENBOT_LIMIT_AUDIT', 'audit'),
    provisioning: perMinute('OPENBOT_LIMIT_PROVISIONING', 'provisioning'),
    unauthenticated: integer(env, 'OPENBOT_LIMIT_UNAUTHENTICATED', 600, 0, 1_000_000),
  };
}

const isAddressOrNetwork = (entry: string): boolean => {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
  const version = isIP(address);
  return version !== 0 && (bits === undefined || Number(bits) <= (version === 4 ? 32 : 128));
};

/** `address`, `address:port` or `[address]:port`. */
function dnsServers(env: Environment): readonly string[] {
  const entries = (text(env, 'OPENBOT_DNS_SERVERS') ?? '').split(',').map((entry) => entry.trim()).filter((entry) => entry !== ''); // prettier-ignore
  const isServer = (entry: string): boolean => isIP(entry) !== 0 || isIP(/^\[?([^\]]+)\]?:\d{1,5}$/.exec(entry)?.[1] ?? '') !== 0;
  if (!entries.every(isServer)) throw new Refused('OPENBOT_DNS_SERVERS', 'must be a comma separated list of addresses such as 10.0.0.53 or 10.0.0.53:5353');
  return entries;
}

function trustedProxies(env: Environment): readonly string[] {
  const entries = (text(env, 'OPENBOT_TRUSTED_PROXIES') ?? '').split(',').map((entry) => entry.trim()).filter((entry) => entry !== ''); // prettier-ignore
  if (!entries.every(isAddressOrNetwork)) throw new Refused('OPENBOT_TRUSTED_PROXIES', 'must be a comma separated list of addresses or networks such as 10.0.0.0/8');
  return entries;
}

const isThisMachine = (hostname: string): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(hostname);

/** An origin and no more. Browsers keep the session's cookie on HTTPS alone, but for this machine. */
function publicUrl(env: Environment): string | null {
  const value = url(env, 'OPENBOT_PUBLIC_URL', ['http:', 'https:']);
  if (value === null) return null;
  const { origin, protocol, hostname } = new URL(value);
  if (value !== origin && value !== `${origin}/`) throw new Refused('OPENBOT_PUBLIC_URL', 'must be an origin without a path, for example https://bots.example.com');
  if (protocol !== 'https:' && !isThisMachine(hostname)) throw new Refused('OPENBOT_PUBLIC_URL', 'must begin with https:// unless it names this machine');
  return origin;
}

/** As OpenTelemetry names them: the address of one signal is whole, the address of all gets the signal's path. */
function traces(env: Environment): Config['traces'] {
  const own = url(env, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', ['http:', 'https:']);
  const all = url(env, 'OTEL_EXPORTER_OTLP_ENDPOINT', ['http:', 'https:']);
  const address = own ?? (all === null ? null : `${all.replace(/\/$/, '')}/v1/traces`);
  const serviceName = line(env, 'OTEL_SERVICE_NAME', 200) ?? 'openbot';
  return address === null || text(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true' ? null : { url: address, serviceName };
}

/** Kubernetes sets these in every pod for a service whose name begins with "openbot". They are nobody's settings. */
const isServiceLink = (variable: string, value: string): boolean =>
  /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/.test(variable) || (variable.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value));

/** What development provides by itself, production must be given. */
function checkProduction(config: Config): void {
  if (!config.production) return;
  if (!config.databaseUrl) throw new Refused('DATABASE_URL', 'must be set when NODE_ENV is production: the embedded PostgreSQL is for development');
  if (config.encryptionKeys.length === 0)
    throw new Refused('OPENBOT_ENCRYPTION_KEYS', 'must be set when NODE_ENV is production: make a key with OPENBOT_ENCRYPTION_KEYS="k1:$(openssl rand -base64 32)"');
  if (config.debugPoint) throw new Refused('OPENBOT_DEBUG_POINT', 'must not be set when NODE_ENV is production: it stops the process');
}

function readAll(env: Environment): Config {
  const unknown = Object.keys(env).find(
    (variable) => variable.startsWith('OPENBOT_') && !(known as readonly string[]).includes(variable) && !isServiceLink(variable, env[variable] ?? ''),
  );
  if (unknown) throw new Refused(unknown, 'is not a setting of OpenBot: correct its name or remove it');
  const production = oneOf(env, 'NODE_ENV', ['production', 'development', 'test'], 'development') === 'production';
  const port = integer(env, 'PORT', 3000, 0, 65_535);
  const leaseMs = integer(env, 'OPENBOT_LEASE_MS', 10_000, 300, 600_000);
  const config = new Config({
    production,
    port,
    host: line(env, 'HOST', 253) ?? (production ? '0.0.0.0' : '127.0.0.1'),
    publicUrl: publicUrl(env),
    sessionIdleMs: integer(env, 'OPENBOT_SESSION_IDLE_MS', 43_200_000, 300_000, 2_592_000_000),
    sessionMs: integer(env, 'OPENBOT_SESSION_MS', 604_800_000, 300_000, 7_776_000_000),
    databaseUrl: databaseUrl(env, 'DATABASE_URL'),
    databaseApiUrl: databaseUrl(env, 'DATABASE_API_URL'),
    databaseWorkerUrl: databaseUrl(env, 'DATABASE_WORKER_URL'),
    apiConnections: integer(env, 'DATABASE_API_CONNECTIONS', 10, 1, 1_000),
    workerConnections: integer(env, 'DATABASE_WORKER_CONNECTIONS', 10, 1, 1_000),
    encryptionKeys: encryptionKeys(env),
    roles: roles(env),
    nodeName: line(env, 'OPENBOT_NODE', 100) ?? `${hostname()}:${port}`,
    leaseMs,
    graceMs: integer(env, 'OPENBOT_GRACE_MS', 25_000, 0, 3_600_000),
    workerSlots: integer(env, 'OPENBOT_WORKER_SLOTS', 200, 1, 10_000),
    ...wake(env),
    debugPoint: line(env, 'OPENBOT_DEBUG_POINT', 300),
    openai: provider(env, 'OPENAI'),
    anthropic: provider(env, 'ANTHROPIC'),
    egressAllow: egressAllow(env),
    egressTrace: egressTrace(env),
    dnsServers: dnsServers(env),
    objects: objects(env, production),
    privatePort: text(env, 'OPENBOT_PRIVATE_PORT') === null ? null : integer(env, 'OPENBOT_PRIVATE_PORT', 0, 0, 65_535),
    privateHost: line(env, 'OPENBOT_PRIVATE_HOST', 253) ?? '127.0.0.1',
    traces: traces(env),
    limits: limits(env),
    openStreams: integer(env, 'OPENBOT_OPEN_STREAMS', 5_000, 0, 1_000_000),
    trustedProxies: trustedProxies(env),
    logLevel: oneOf(env, 'OPENBOT_LOG_LEVEL', ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'], 'info'),
  });
  checkProduction(config);
  return config;
}

/** Reads and checks every setting at once, before anything is started. This file is the only one that reads the environment. */
export function loadConfig(env: Environment = process.env): Result<Config, BadVariable> {
  try {
    return ok(readAll(env));
  } catch (error) {
    if (error instanceof Refused) return fail({ _tag: 'BadVariable', variable: error.variable, expected: error.expected });
    throw error;
  }
}
