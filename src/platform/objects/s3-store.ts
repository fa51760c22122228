import type { S3Client } from '@aws-sdk/client-s3';
import type { Readable } from 'node:stream';
import type { S3Settings } from '@platform/config/config.js';
import { addressPolicy, type AddressPolicy } from '@platform/egress/address-policy.js';
import { checkUrl, EgressRefusedError, guardedLookup } from '@platform/egress/egress.js';
import { checkKey, checkPrefix, ObjectStore, type ObjectPage } from './object-store.js';

/** The wait for one of the sockets is part of it. */
const connectMs = 10_000;
const answerMs = 60_000;

/**
 * The store's own border: what outbound calls of the installation may reach, and the server that the operator named for objects. That one stays closed to
 * every address that users name.
 */
export const storePolicy = ({ endpoint }: S3Settings, allow: readonly string[], options: { readonly loopback: boolean }): AddressPolicy =>
  addressPolicy(endpoint === null ? allow : [...allow, new URL(endpoint).hostname.replace(/^\[|\]$/g, '')], options);

/** Objects in a bucket. The SDK is loaded at the first use: most commands of the program need none. */
export class S3Store extends ObjectStore {
  private loading: Promise<{ readonly client: S3Client; readonly sdk: typeof import('@aws-sdk/client-s3') }> | null = null;

  constructor(
    private readonly settings: S3Settings,
    private readonly policy: AddressPolicy,
  ) {
    super();
  }

  async put(key: string, body: Uint8Array): Promise<void> {
    const { client, sdk } = await this.load();
    await client.send(new sdk.PutObjectCommand({ Bucket: this.settings.bucket, Key: checkKey(key), Body: body, ContentLength: body.byteLength }));
  }

  async open(key: string): Promise<Readable | null> {
    const { client, sdk } = await this.load();
    try {
      const { Body } = await client.send(new sdk.GetObjectCommand({ Bucket: this.settings.bucket, Key: checkKey(key) }));
      return Body as Readable;
    } catch (error) {
      if (error instanceof sdk.NoSuchKey) return null;
      throw error;
    }
  }

  async delete(key: string): Promise<void> {
    const { client, sdk } = await this.load();
    await client.send(new sdk.DeleteObjectCommand({ Bucket: this.settings.bucket, Key: checkKey(key) }));
  }

  async list(prefix: string, { after, limit }: { readonly after: string | null; readonly limit: number }): Promise<ObjectPage> {
    const { client, sdk } = await this.load();
    const { bucket: Bucket } = this.settings;
    // Continued behind a key and not by the server's token, so that it can be stored and goes on after any time.
    const page = await client.send(new sdk.ListObjectsV2Command({ Bucket, Prefix: checkPrefix(prefix), MaxKeys: limit, ...(after === null ? {} : { StartAfter: after }) }));
    const keys = (page.Contents ?? []).flatMap(({ Key }) => Key ?? []);
    return { keys, next: page.IsTruncated ? (keys.at(-1) ?? null) : null };
  }

  async close(): Promise<void> {
    const loaded = await this.loading?.catch(() => null);
    loaded?.client.destroy();
  }

  private load(): NonNullable<typeof this.loading> {
    this.loading ??= this.connect().catch((error: unknown) => {
      this.loading = null;
      throw error;
    });
    return this.loading;
  }

  private async connect() {
    const { region, endpoint, accessKeyId, secretAccessKey } = this.settings;
    const allowed = endpoint === null ? null : checkUrl(this.policy, endpoint);
    if (allowed && !allowed.ok) throw new EgressRefusedError(allowed.failure);
    const sdk = await import('@aws-sdk/client-s3');
    // Judged at every connection, as those of the guard are.
    const agent = { keepAlive: true, maxSockets: 50, lookup: guardedLookup(this.policy) };
    const client = new sdk.S3Client({
      region,
      credentials: { accessKeyId, secretAccessKey },
      ...(endpoint === null ? {} : { endpoint, forcePathStyle: true }),
      // Else older servers store or refuse bodies with the checksum's frame around them.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      maxAttempts: 3,
      requestHandler: { connectionTimeout: connectMs, requestTimeout: answerMs, throwOnRequestTimeout: true, httpAgent: agent, httpsAgent: agent },
    });
    return { client, sdk };
  }
}
