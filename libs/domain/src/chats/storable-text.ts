// With the `u` flag a surrogate matches only where it stands alone: a pair is one character.
const unstorable = /[\0\p{Surrogate}]/gu;

/**
 * Text that PostgreSQL and UTF-8 can hold. `text` and `jsonb` refuse U+0000, and half a surrogate pair has no UTF-8 form: each of
 * them becomes U+FFFD, the character that stands for one that could not be kept. All other text comes back as it is.
 */
export const storableText = (text: string): string => text.replace(unstorable, '\uFFFD');

export const isStorable = (text: string): boolean => text.search(unstorable) === -1;

const endsInHighHalf = (text: string): boolean => /[\uD800-\uDBFF]$/.test(text);

/**
 * The same for text that arrives in pieces. A pair may be split over two of them, so a high half at the end waits for the next piece.
 * However the text was cut, the returned pieces and `rest()` join to `storableText` of the whole.
 */
export function storableDeltas(): { readonly next: (delta: string) => string; readonly rest: () => string } {
  let held = '';
  return {
    next(delta) {
      const text = held + delta;
      held = endsInHighHalf(text) ? text.slice(-1) : '';
      return storableText(held === '' ? text : text.slice(0, -1));
    },
    rest() {
      const half = held;
      held = '';
      return storableText(half);
    },
  };
}
