import { Config } from './config.js';
import { loadConfig, type Environment } from './env.js';

const key = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
const secret = 'hunter2-must-not-be-seen';
const load = (env: Environment): Config => {
  const loaded = loadConfig(env);
  if (!loaded.ok) throw new Error(`${loaded.failure.variable} ${loaded.failure.expected}`);
  return loaded.value;
};

test('an empty environment is development with everything embedded', () => {
  const config = load({});
  expect(config).toBeInstanceOf(Config);
  expect(config).toMatchObject({
    production: false,
    port: 3000,
    host: '127.0.0.1',
    databaseUrl: null,
    encryptionKeys: [],
    roles: { api: true, worker: true },
    wake: 'notify',
    redisUrl: null,
    leaseMs: 10_000,
    openai: null,
    objects: { folder: '.openbot/objects' },
  });
});

test('limits are generous, and 0 turns one off', () => {
  expect(load({}).limits).toEqual({ read: 60_000, write: 30_000, message: 30_000, stream: 12_000, admin: 6_000, audit: 120, provisioning: 6_000, unauthenticated: 600 });
  expect(load({ OPENBOT_LIMIT_READ: '0', OPENBOT_LIMIT_ADMIN: '7' }).limits).toMatchObject({ read: 0, write: 30_000, admin: 7 });
});

test('traces are sent where an address is named, and not when they are switched off', () => {
  expect(load({}).traces).toBeNull();
  expect(load({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' }).traces).toEqual({ url: 'http://collector:4318/v1/traces', serviceName: 'openbot' });
  const both = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://b/traces', OTEL_SERVICE_NAME: 'bots' };
  expect(load(both).traces).toEqual({ url: 'https://b/traces', serviceName: 'bots' });
  expect(load({ ...both, OTEL_SDK_DISABLED: 'TRUE' }).traces).toBeNull();
});

test('an empty variable is an absent one', () => {
  expect(load({ PORT: '', DATABASE_URL: '  ', OPENBOT_NODE: '' })).toEqual(load({}));
});

test('the first encryption key comes first', () => {
  expect(load({ OPENBOT_ENCRYPTION_KEYS: `b:${key(2)}, a:${key(1)}` }).encryptionKeys.map(({ id }) => id)).toEqual(['b', 'a']);
});

test('objects lie in a bucket where one is named, and in production nowhere else', () => {
  const bucket = { S3_BUCKET: 'objects', S3_ENDPOINT: 'http://minio:9000', S3_ACCESS_KEY_ID: 'k', S3_SECRET_ACCESS_KEY: 's' };
  expect(load(bucket).objects).toEqual({ bucket: 'objects', region: 'us-east-1', endpoint: 'http://minio:9000', accessKeyId: 'k', secretAccessKey: 's' });
  expect(load({ OPENBOT_OBJECTS: '/var/objects' }).objects).toEqual({ folder: '/var/objects' });
  expect(load({ NODE_ENV: 'production', DATABASE_URL: 'postgres://u:p@h/d', OPENBOT_ENCRYPTION_KEYS: `a:${key(1)}` }).objects).toBeNull();
});

test('a provider counts only with its key', () => {
  expect(load({ OPENAI_MODEL: 'm' }).openai).toBeNull();
  expect(load({ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1', OPENAI_API: 'chat' }).openai).toEqual({
    apiKey: 'k',
    baseUrl: 'http://127.0.0.1:9/v1',
    model: null,
    api: 'chat',
  });
});

test.each<[rule: string, variable: string, env: Environment]>([
  ['a port is a number', 'PORT', { PORT: secret }],
  ['a port is at most 65535', 'PORT', { PORT: '65536' }],
  ['a limit is a number', 'OPENBOT_LIMIT_WRITE', { OPENBOT_LIMIT_WRITE: 'none' }],
  ['a limit has an end', 'OPENBOT_LIMIT_MESSAGE', { OPENBOT_LIMIT_MESSAGE: '1000001' }],
  ['a trusted proxy is an address', 'OPENBOT_TRUSTED_PROXIES', { OPENBOT_TRUSTED_PROXIES: '10.0.0.1, ingress' }],
  ['a trusted network is one', 'OPENBOT_TRUSTED_PROXIES', { OPENBOT_TRUSTED_PROXIES: '10.0.0.0/33' }],
  ['a number is not signed', 'OPENBOT_GRACE_MS', { OPENBOT_GRACE_MS: '-1' }],
  ['a number has no exponent', 'OPENBOT_LEASE_MS', { OPENBOT_LEASE_MS: '1e4' }],
  ['a pool has a connection', 'DATABASE_API_CONNECTIONS', { DATABASE_API_CONNECTIONS: '0' }],
  ['a database is PostgreSQL', 'DATABASE_URL', { DATABASE_URL: `mysql://u:${secret}@h/d` }],
  ['a database URL is a URL', 'DATABASE_URL', { DATABASE_URL: secret }],
  ['a database URL names a database', 'DATABASE_URL', { DATABASE_URL: `postgres://u:${secret}@h` }],
  ['a database URL names a user', 'DATABASE_API_URL', { DATABASE_API_URL: `postgres://h/${secret}` }],
  ['a database URL has no start-up options', 'DATABASE_WORKER_URL', { DATABASE_WORKER_URL: `postgres://u:${secret}@h/d?options=-c%20a%3Db` }],
  ['a key has 32 bytes', 'OPENBOT_ENCRYPTION_KEYS', { OPENBOT_ENCRYPTION_KEYS: `a:${Buffer.from(secret).toString('base64')}` }],
  ['a key has an id', 'OPENBOT_ENCRYPTION_KEYS', { OPENBOT_ENCRYPTION_KEYS: key(1) }],
  ['an id is used once', 'OPENBOT_ENCRYPTION_KEYS', { OPENBOT_ENCRYPTION_KEYS: `a:${key(1)},a:${key(2)}` }],
  ['a key is used once', 'OPENBOT_ENCRYPTION_KEYS', { OPENBOT_ENCRYPTION_KEYS: `a:${key(1)},b:${key(1)}` }],
  ['a role is known', 'OPENBOT_ROLES', { OPENBOT_ROLES: `api,${secret}` }],
  ['a wake channel is known', 'WAKE', { WAKE: secret }],
  ['a Redis is reached by its own protocol', 'REDIS_URL', { REDIS_URL: `http://u:${secret}@h` }],
  ['a Redis URL has no parameters', 'REDIS_URL', { REDIS_URL: `redis://u:${secret}@h?family=6` }],
  ['waking by Redis has one', 'REDIS_URL', { WAKE: 'redis' }],
  ['a log level is known', 'OPENBOT_LOG_LEVEL', { OPENBOT_LOG_LEVEL: secret }],
  ['an API of OpenAI is known', 'OPENAI_API', { OPENAI_API: secret }],
  ['a provider is reached over HTTP', 'ANTHROPIC_BASE_URL', { ANTHROPIC_BASE_URL: `ftp://${secret}` }],
  ['a provider key is one line', 'OPENAI_API_KEY', { OPENAI_API_KEY: `${secret}\n${secret}` }],
  ['an allowed network is a host or a network', 'OPENBOT_EGRESS_ALLOW', { OPENBOT_EGRESS_ALLOW: `10.0.0.0/8,${secret} x` }],
  ['a private port is a number', 'OPENBOT_PRIVATE_PORT', { OPENBOT_PRIVATE_PORT: secret }],
  ['a DNS server is an address', 'OPENBOT_DNS_SERVERS', { OPENBOT_DNS_SERVERS: '10.0.0.53, resolver' }],
  ['a traced host is a host', 'OPENBOT_EGRESS_TRACE', { OPENBOT_EGRESS_TRACE: `a,${secret} x` }],
  ['traces go over HTTP', 'OTEL_EXPORTER_OTLP_ENDPOINT', { OTEL_EXPORTER_OTLP_ENDPOINT: `grpc://${secret}` }],
  ['a bucket has a name', 'S3_BUCKET', { S3_BUCKET: `A ${secret}` }],
  ['a bucket comes with its key', 'S3_ACCESS_KEY_ID', { S3_BUCKET: 'objects', S3_SECRET_ACCESS_KEY: secret }],
  ['a bucket comes with its secret', 'S3_SECRET_ACCESS_KEY', { S3_BUCKET: 'objects', S3_ACCESS_KEY_ID: secret }],
  ['a server of objects is reached over HTTP', 'S3_ENDPOINT', { S3_BUCKET: 'objects', S3_ENDPOINT: `ftp://${secret}`, S3_ACCESS_KEY_ID: 'k', S3_SECRET_ACCESS_KEY: 's' }],
  ['objects lie in one place', 'OPENBOT_OBJECTS', { S3_BUCKET: 'objects', S3_ACCESS_KEY_ID: 'k', S3_SECRET_ACCESS_KEY: 's', OPENBOT_OBJECTS: secret }],
  [
    'production has no folder of objects',
    'OPENBOT_OBJECTS',
    { NODE_ENV: 'production', DATABASE_URL: `postgres://u:${secret}@h/d`, OPENBOT_ENCRYPTION_KEYS: `a:${key(1)}`, OPENBOT_OBJECTS: secret },
  ],
  ['an unknown setting is refused', 'OPENBOT_LEASE', { OPENBOT_LEASE: secret }],
  ['an environment is known, so that a typing error is not development', 'NODE_ENV', { NODE_ENV: 'prod' }],
  ['production has a database', 'DATABASE_URL', { NODE_ENV: 'production', OPENBOT_ENCRYPTION_KEYS: `a:${key(1)}` }],
  ['production has a key', 'OPENBOT_ENCRYPTION_KEYS', { NODE_ENV: 'production', DATABASE_URL: `postgres://u:${secret}@h/d` }],
  [
    'production has no debug point',
    'OPENBOT_DEBUG_POINT',
    { NODE_ENV: 'production', DATABASE_URL: `postgres://u:${secret}@h/d`, OPENBOT_ENCRYPTION_KEYS: `a:${key(1)}`, OPENBOT_DEBUG_POINT: secret },
  ],
])('%s: %s is named and its value is not', (_, variable, env) => {
  const loaded = loadConfig(env);
  expect(loaded).toMatchObject({ ok: false, failure: { _tag: 'BadVariable', variable } });
  expect(JSON.stringify(loaded)).not.toContain(secret);
});

test.each([
  [{ REDIS_URL: 'redis://h' }, 'redis'],
  [{ REDIS_URL: 'rediss://u:p@h:6380/2' }, 'redis'],
  [{ REDIS_URL: 'redis://h', WAKE: 'notify' }, 'notify'],
  [{ REDIS_URL: 'redis://h', WAKE: 'none' }, 'none'],
])('%j wakes by %s', (env, wake) => {
  expect(load(env)).toMatchObject({ wake, redisUrl: env.REDIS_URL });
});

test('the variables that Kubernetes makes of a service named openbot are left alone', () => {
  expect(load({ OPENBOT_SERVICE_HOST: '10.0.0.1', OPENBOT_SERVICE_PORT_HTTP: '80', OPENBOT_PORT: 'tcp://10.0.0.1:80', OPENBOT_API_PORT_80_TCP_ADDR: '10.0.0.1' })).toEqual(
    load({}),
  );
});

test('production with what it needs listens to everyone', () => {
  expect(load({ NODE_ENV: 'production', DATABASE_URL: 'postgres://u:p@h/d', OPENBOT_ENCRYPTION_KEYS: `a:${key(1)}` })).toMatchObject({ production: true, host: '0.0.0.0' });
});
