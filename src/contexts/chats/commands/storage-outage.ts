import type { Result } from '@domain/result.js';
import { fail } from '@domain/result.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { categoryOf } from '@platform/observability/failure-category.js';
import type { ErrorRecords } from '@platform/observability/error-records.js';
import type { Identity } from '@platform/identity/identity.js';

/** The database does not answer. Whether the message was saved is not known: the same key finds out. */
export type ChatStorageUnavailable = { readonly _tag: 'ChatStorageUnavailable'; readonly category: string; readonly errorId: string };

/** Names an outage of the database in the words of the chats; its cause is kept like that of every fault, under the id that the client gets. */
export async function namingOutage<A, F>(records: ErrorRecords, { context }: Identity, work: () => Promise<Result<A, F>>): Promise<Result<A, F | ChatStorageUnavailable>> {
  try {
    return await work();
  } catch (error) {
    if (categoryOf(error) !== 'storage_unavailable') throw error;
    const { category, errorId } = records.record(error, context);
    return fail({ _tag: 'ChatStorageUnavailable', category, errorId: toPublicId('error', errorId) });
  }
}
