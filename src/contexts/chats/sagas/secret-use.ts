import { v5 as uuidv5 } from 'uuid';
import type { PhaseRun } from '@engine/phase.js';
import type { ResolvedModel } from '@contexts/models/public/resolve-model.query.js';
import { toPublicId } from '@platform/ids/typeid.js';

/** As `tell_secret_use` reads it. */
export type SecretUse = { readonly id: string; readonly connection: string; readonly revision: number; readonly execution: string };

const namespace = '0d9c1c52-8a36-4c0e-9d6b-5a6f0f6f1b7e';
const keptAs = 'told-secret-use';

/**
 * What the audit log is to be told before the model is asked: that this turn uses the key of a connection. Once for each revision of it; another owner of
 * the turn says it again under the same id, and the log keeps one. Null: it uses none, or that was told.
 */
export function untoldSecretUse({ execution, kept }: PhaseRun<unknown>, { secret }: ResolvedModel): SecretUse | null {
  if (!secret) return null;
  const { connectionId: connection, revision } = secret;
  const id = uuidv5(`${execution.id}:${connection}:${revision}`, namespace);
  if (kept.get(keptAs) === id) return null;
  kept.set(keptAs, id);
  return { id, connection, revision, execution: toPublicId('execution', execution.id) };
}
