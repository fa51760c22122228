import { Query } from '@nestjs/cqrs';
import type { ReadTx } from '@engine/tx.js';

/**
 * The project in which a credential acts where a request names none: the first that it names, and for one that names none the
 * earliest. `null`: it may act in none.
 */
export class FindActiveProjectQuery extends Query<string | null> {
  constructor(
    readonly tokenId: string,
    readonly tx: ReadTx,
  ) {
    super();
  }
}
