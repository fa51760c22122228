import { Query } from '@nestjs/cqrs';
import type { ReadTx } from '@engine/tx.js';

/** The organization of the transaction, if there is one of its id. */
export class FindOrganizationQuery extends Query<{ readonly id: string; readonly name: string } | null> {
  constructor(readonly tx: ReadTx) {
    super();
  }
}
