import { TypeID } from 'typeid-js';
import { idPrefixes, type IdKind } from '@domain/ids.js';

/** The public form of a stored UUID: `chat_01h…`. */
export const toPublicId = (kind: IdKind, uuid: string): string => TypeID.fromUUID(idPrefixes[kind], uuid).toString();

/** The UUID of a public id, or `null` for anything else: a malformed id in a path is a missing one. */
export function fromPublicId(kind: IdKind, text: string): string | null {
  try {
    const uuid = TypeID.fromString(text, idPrefixes[kind]).toUUID();
    // The codec ignores case in places; only the one spelling that we hand out is an id.
    return toPublicId(kind, uuid) === text ? uuid : null;
  } catch {
    return null;
  }
}
