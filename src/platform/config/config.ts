import type { RouteClass } from '@domain/access/route-classes.js';

/** Every setting of a process, read once at its start. A class so that Nest can inject it by type. */
export class Config {
  readonly production: boolean;
  /** `PORT`, default 3000. */
  readonly port: number;
  /** `HOST`, default 127.0.0.1 in development and 0.0.0.0 in production. */
  readonly host: string;
  /** `OPENBOT_PUBLIC_URL`: the origin at which browsers reach this server. `null`: this machine in development; in production nobody signs in here. */
  readonly publicUrl: string | null;
  /** `OPENBOT_SESSION_IDLE_MS`, default 12 hours: a session that is not used for this long is over. */
  readonly sessionIdleMs: number;
  /** `OPENBOT_SESSION_MS`, default 7 days: after this time a session is over, however much it is used. */
  readonly sessionMs: number;
  /** `DATABASE_URL`: the connection that migrates. `null` in development: the embedded PostgreSQL. */
  readonly databaseUrl: string | null;
  /** `DATABASE_API_URL`, `DATABASE_WORKER_URL`: logins of the two roles. `null`: made by the migration, with passwords derived from the encryption key. */
  readonly databaseApiUrl: string | null;
  readonly databaseWorkerUrl: string | null;
  /** `DATABASE_API_CONNECTIONS`, `DATABASE_WORKER_CONNECTIONS`, default 10 each. */
  readonly apiConnections: number;
  readonly workerConnections: number;
  /** `OPENBOT_ENCRYPTION_KEYS`: `<id>:<base64 of 32 bytes>`, comma separated; the first seals, all open. */
  readonly encryptionKeys: readonly { readonly id: string; readonly key: Buffer }[];
  /** `OPENBOT_ROLES`: `api`, `worker` or both (default). */
  readonly roles: { readonly api: boolean; readonly worker: boolean };
  /** `OPENBOT_NODE`: the name under which this process owns work; default: the host name and the port. */
  readonly nodeName: string;
  /** `OPENBOT_LEASE_MS`, default 10 000: how long an unchanged beat keeps its work. */
  readonly leaseMs: number;
  /** `OPENBOT_GRACE_MS`, default 25 000: how long phases go on after SIGTERM. */
  readonly graceMs: number;
  /** `OPENBOT_WORKER_SLOTS`, default 200: executions advanced at once. */
  readonly workerSlots: number;
  /** `WAKE`: `redis` (default with `REDIS_URL`), `notify` (default without) or `none`: polling alone. */
  readonly wake: 'redis' | 'notify' | 'none';
  /** `REDIS_URL`: carries hints between nodes and nothing that is needed. */
  readonly redisUrl: string | null;
  /** `OPENBOT_DEBUG_POINT`: a named point at which the process stops itself; for recovery tests, refused in production. */
  readonly debugPoint: string | null;
  /** `OPENAI_API_KEY`, `OPENAI_BASE_URL`, `OPENAI_MODEL`, `OPENAI_API` (`responses` or `chat`). */
  readonly openai: ProviderSettings | null;
  /** `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`, `ANTHROPIC_MODEL`. */
  readonly anthropic: ProviderSettings | null;
  /** `OPENBOT_EGRESS_ALLOW`: hosts or CIDRs of private networks that outbound calls may reach; loopback is allowed in development. */
  readonly egressAllow: readonly string[];
  /** `OPENBOT_DNS_SERVERS`: addresses, with a port where it is not 53, that are asked whether a domain is an organization's. Default: this machine's. */
  readonly dnsServers: readonly string[];
  /** `OPENBOT_EGRESS_TRACE`: hosts that get the `traceparent` of the call that goes to them. Default: none. */
  readonly egressTrace: readonly string[];
  /**
   * Where large contents lie: `S3_BUCKET`, `S3_REGION` (default us-east-1), `S3_ENDPOINT`, `S3_ACCESS_KEY_ID`, `S3_SECRET_ACCESS_KEY`, or in development the folder
   * `OPENBOT_OBJECTS` (default `.openbot/objects`). `null`: nowhere, in production without a bucket.
   */
  readonly objects: { readonly folder: string } | S3Settings | null;
  /** `OPENBOT_PRIVATE_PORT`, `OPENBOT_PRIVATE_HOST` (default 127.0.0.1): where metrics, doctor and health are answered. `null`: nowhere. */
  readonly privatePort: number | null;
  readonly privateHost: string;
  /** `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_SERVICE_NAME`; the SDK reads the other `OTEL_` variables itself. `null`: no traces. */
  readonly traces: { readonly url: string; readonly serviceName: string } | null;
  /** `OPENBOT_LIMIT_<CLASS>`, and `OPENBOT_LIMIT_UNAUTHENTICATED` for an address: requests in a minute, for all nodes together; 0: as many as come. */
  readonly limits: Readonly<Record<RouteClass | 'unauthenticated', number>>;
  /** `OPENBOT_OPEN_STREAMS`, default 5 000: streams that a principal may hold open at one node; 0: as many as come. */
  readonly openStreams: number;
  /** `OPENBOT_TRUSTED_PROXIES`: addresses or networks whose `X-Forwarded-For` says where a request comes from. Default: none. */
  readonly trustedProxies: readonly string[];
  /** `OPENBOT_LOG_LEVEL`, default `info`. */
  readonly logLevel: string;

  constructor(values: Config) {
    Object.assign(this, values);
  }
}

export type S3Settings = {
  readonly bucket: string;
  readonly region: string;
  /** A server that speaks S3, reached by its own name with the bucket in the path; `null`: Amazon's. */
  readonly endpoint: string | null;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
};
export type ProviderSettings = { readonly apiKey: string; readonly baseUrl: string | null; readonly model: string | null; readonly api: 'responses' | 'chat' };
