import type { EntityManager } from 'typeorm';

declare const inTransaction: unique symbol;
/** An EntityManager inside a tenant's transaction. Only `transact` and the engine make one; it is always an argument, never a field. */
export type Tx = EntityManager & { readonly [inTransaction]: true };

declare const inSnapshot: unique symbol;
/** An EntityManager inside a tenant's read-only transaction. A `Tx` reads as well. */
export type ReadTx = EntityManager & { readonly [inSnapshot]?: true };
