import { fail, ok } from '@domain/result.js';
import type { ErrorRecords } from '@platform/observability/error-records.js';
import type { Identity } from '@platform/identity/identity.js';
import { namingOutage } from './storage-outage.js';

const identity = { context: { organizationId: 'o', projectId: 'p' } } as Identity;

test('an outage of the database is named, and its cause is kept', async () => {
  const outage = Object.assign(new Error('terminating connection'), { code: '57P01' });
  const kept: unknown[] = [];
  const records = { record: (cause: unknown, origin: unknown) => kept.push(cause, origin) } as unknown as ErrorRecords;
  expect(await namingOutage(records, identity, () => Promise.reject(outage))).toEqual(fail({ _tag: 'ChatStorageUnavailable' }));
  expect(kept).toEqual([outage, identity.context]);
});

test('every other fault and every result pass as they are', async () => {
  const records = {} as ErrorRecords;
  await expect(namingOutage(records, identity, () => Promise.reject(new TypeError('a bug')))).rejects.toThrow('a bug');
  expect(await namingOutage(records, identity, () => Promise.resolve(ok(7)))).toEqual(ok(7));
});
