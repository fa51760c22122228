/** What one node tells the others: that it listens, and what may have changed. `origin` tells a node's own messages apart. */
export type WakePayload =
  | { readonly kind: 'test'; readonly origin: string; readonly token: string }
  | { readonly kind: 'ids'; readonly origin: string; readonly ids: readonly string[] }
  | { readonly kind: 'all'; readonly origin: string };

/** PostgreSQL refuses 8000 bytes and more. */
const maxPayloadBytes = 7_900;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const uuidLength = 36;

export const testPayload = (origin: string, token: string): string => `test ${origin} ${token}`;
export const allPayload = (origin: string): string => `all ${origin}`;

/** As many payloads as the ids need. */
export function idPayloads(origin: string, ids: readonly string[]): string[] {
  const head = `ids ${origin} `;
  const perPayload = Math.floor((maxPayloadBytes - head.length) / (uuidLength + 1));
  const payloads: string[] = [];
  for (let from = 0; from < ids.length; from += perPayload) payloads.push(head + ids.slice(from, from + perPayload).join(','));
  return payloads;
}

/** `null`: a payload of another version, or of a stranger on the same channel. */
export function readPayload(text: string): WakePayload | null {
  const [kind, origin, rest] = text.split(' ');
  if (!origin) return null;
  if (kind === 'all') return { kind, origin };
  if (!rest) return null;
  if (kind === 'test') return { kind, origin, token: rest };
  const ids = rest.split(',');
  return kind === 'ids' && ids.every((id) => uuid.test(id)) ? { kind, origin, ids } : null;
}
