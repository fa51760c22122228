import { Query } from '@nestjs/cqrs';
import type { ReadTx } from '@engine/tx.js';

/** The groups of a member, by the names and ids that the directory of this identity provider gave them; `null`: it says nothing of groups. */
export class DirectoryGroupsQuery extends Query<readonly string[] | null> {
  constructor(
    readonly providerId: string,
    readonly memberId: string,
    readonly tx: ReadTx,
  ) {
    super();
  }
}
