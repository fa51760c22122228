import type { PermissionName } from '@domain/access/permissions.js';

/** The request was let in with a right that was taken before its first write; `null`: its credential does not count any more. */
export class RightLost extends Error {
  constructor(readonly permission: PermissionName | null) {
    super(permission === null ? 'the credential does not count any more' : `the permission ${permission} was taken`);
  }
}
