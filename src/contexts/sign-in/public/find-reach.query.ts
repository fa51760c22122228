import { Query } from '@nestjs/cqrs';
import type { ReadTx } from '@engine/tx.js';

/** The projects that a credential is narrowed to; `null`: it is for all of its member's. One that does not count any more is for none. */
export class FindReachQuery extends Query<readonly string[] | null> {
  constructor(
    readonly tokenId: string,
    readonly tx: ReadTx,
  ) {
    super();
  }
}
