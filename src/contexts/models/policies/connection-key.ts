import type { Binding } from '@engine/sealing.js';

/** A key opens for the connection that it was given to, and for no other row. */
export const keyBinding = (connectionId: string): Binding => ({ table: 'model_connection', record: connectionId });
