import { fail, ok } from '@domain/result.js';
import type { ErrorRecords } from '@platform/observability/error-records.js';
import type { Identity } from '@platform/identity/identity.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { namingOutage } from './storage-outage.js';

const errorId = '01890000-0000-7000-8000-000000000001';
const identity = { context: { organizationId: 'o', projectId: 'p' } } as Identity;

test('an outage of the database is named, and its cause is kept under the id that the client gets', async () => {
  const outage = Object.assign(new Error('terminating connection'), { code: '57P01' });
  const kept: unknown[] = [];
  const record = (cause: unknown, origin: unknown) => (kept.push(cause, origin), { category: 'storage_unavailable', errorId });
  const named = await namingOutage({ record } as unknown as ErrorRecords, identity, () => Promise.reject(outage));
  expect(named).toEqual(fail({ _tag: 'ChatStorageUnavailable', category: 'storage_unavailable', errorId: toPublicId('error', errorId) }));
  expect(kept).toEqual([outage, identity.context]);
});

test('every other fault and every result pass as they are', async () => {
  const records = {} as ErrorRecords;
  await expect(namingOutage(records, identity, () => Promise.reject(new TypeError('a bug')))).rejects.toThrow('a bug');
  expect(await namingOutage(records, identity, () => Promise.resolve(ok(7)))).toEqual(ok(7));
});
