import type { Readable } from 'node:stream';
import type { TenantContext } from '@domain/tenancy.js';

/** Lower case only, so that a folder that takes two cases for one holds what a bucket holds. */
const part = /^(?!\.{1,2}$)[a-z0-9._-]{1,200}$/;
const maxKeyLength = 900;
/** Objects in a page, at most. */
export const pageLimit = 1_000;

/** A page of keys in the order of their bytes. `next` continues behind it; `null`: nothing comes behind it. */
export type ObjectPage = { readonly keys: readonly string[]; readonly next: string | null };

/**
 * Where large contents lie that are in no row. Keys are `<organization>/<project>/<parts>`: lower case letters, digits, `.`, `_` and `-` between slashes. What is
 * put is whole and readable when the promise resolves, and never seen in part. Every other trouble is thrown: nobody knows then whether it took effect.
 */
export abstract class ObjectStore {
  /** Replaces what was there. */
  abstract put(key: string, body: Uint8Array): Promise<void>;
  /** `null`: there is none. Ending or destroying the stream is the caller's. */
  abstract open(key: string): Promise<Readable | null>;
  /** One that is not there is deleted already. */
  abstract delete(key: string): Promise<void>;
  /** `prefix` ends with a slash. What stays there throughout is in exactly one page, whatever else is put or deleted meanwhile. `limit`: up to `pageLimit`. */
  abstract list(prefix: string, page: { readonly after: string | null; readonly limit: number }): Promise<ObjectPage>;
}

/** The whole content, or `null`. Throws when it is longer than `maxBytes`. */
export async function readObject(store: ObjectStore, key: string, maxBytes: number): Promise<Buffer | null> {
  const stream = await store.open(key);
  if (!stream) return null;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    // Leaving the loop destroys the stream.
    if (size > maxBytes) throw new RangeError(`the object is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Under which everything of a project lies, and nothing else. */
export const projectPrefix = ({ organizationId, projectId }: TenantContext & { readonly projectId: string }): string => checkPrefix(`${organizationId}/${projectId}/`);

/** Refuses what could name something else than one object below its project, in a folder as well as in a bucket. */
export function checkKey(key: string): string {
  const parts = key.split('/');
  if (key.length > maxKeyLength || parts.length < 3 || !parts.every((each) => part.test(each))) throw new TypeError('this is no key of an object');
  return key;
}

export function checkPrefix(prefix: string): string {
  const parts = prefix.split('/');
  if (prefix.length > maxKeyLength || parts.length < 3 || parts.at(-1) !== '' || !parts.slice(0, -1).every((each) => part.test(each)))
    throw new TypeError('a prefix names an organization, a project and maybe more, and ends with a slash');
  return prefix;
}
