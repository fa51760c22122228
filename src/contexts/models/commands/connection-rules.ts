import { checkConnection, type ConnectionSettings, type ModelConnectionInvalid, type ModelConnectionNameTaken } from '@domain/models/connection.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { Egress } from '@platform/egress/egress.js';

/** The rules of the connection, and whether its address may be reached: asked before a transaction, because names are looked up. */
export async function checkReachableConnection(egress: Egress, wanted: ConnectionSettings): Promise<Result<ConnectionSettings, ModelConnectionInvalid>> {
  const checked = checkConnection(wanted);
  if (!checked.ok || wanted.baseUrl === null) return checked;
  const refusal = await egress.check(wanted.baseUrl);
  if (!refusal) return ok(checked.value);
  // Nothing is sent yet that could be redirected.
  return fail({ _tag: 'ModelConnectionInvalid', field: 'baseUrl', reason: refusal.reason === 'redirect' ? 'address' : refusal.reason });
}

/** Two requests may take one name at once: the index decides, and the loser learns it from the error. */
export async function withNameTaken<R extends Result<unknown, unknown>>(name: string, work: () => Promise<R>): Promise<R | Result<never, ModelConnectionNameTaken>> {
  try {
    return await work();
  } catch (error) {
    if ((error as { constraint?: string } | null)?.constraint === 'model_connection_name_is_taken_once') return fail({ _tag: 'ModelConnectionNameTaken', name });
    throw error;
  }
}
