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

/** What kind of thing a public id names, and its UUID; null for anything else. */
export function readPublicId(text: string): { readonly kind: IdKind; readonly uuid: string } | null {
  const prefix = text.slice(0, text.lastIndexOf('_'));
  const kind = (Object.keys(idPrefixes) as IdKind[]).find((name) => idPrefixes[name] === prefix);
  const uuid = kind === undefined ? null : fromPublicId(kind, text);
  return kind === undefined || uuid === null ? null : { kind, uuid };
}
