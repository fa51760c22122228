import fc from 'fast-check';
import { isStorable, storableDeltas, storableText } from './storable-text.js';

/** Any UTF-16 text, with NUL and halves of pairs far more often than chance would bring them. */
const anyText = fc.array(fc.oneof(fc.constantFrom('\0', '\uD83D', '\uDE00', '😀', 'a', '\uFFFD'), fc.string({ unit: 'binary' })), { maxLength: 12 }).map((parts) => parts.join(''));

test.each([
  ['ordinary text stays', 'Grüße, 😀 \n\t\u0001', 'Grüße, 😀 \n\t\u0001'],
  ['NUL becomes U+FFFD', 'a\0b', 'a\uFFFDb'],
  ['a lone high half becomes U+FFFD', 'a\uD83Db', 'a\uFFFDb'],
  ['a lone low half becomes U+FFFD', '\uDE00b', '\uFFFDb'],
  ['halves in the wrong order become two', '\uDE00\uD83D', '\uFFFD\uFFFD'],
  ['a half before a pair leaves the pair', '\uD83D😀', '\uFFFD😀'],
])('%s', (_rule, text, expected) => {
  expect(storableText(text)).toBe(expected);
});

test('the result survives UTF-8 and holds no NUL, keeps its length, and is final', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const stored = storableText(text);
      expect(Buffer.from(stored, 'utf8').toString('utf8')).toBe(stored);
      expect(stored).not.toContain('\0');
      expect(stored).toHaveLength(text.length);
      expect(storableText(stored)).toBe(stored);
      expect(isStorable(text)).toBe(stored === text);
    }),
  );
});

test('however a text is cut, its pieces join to the storable text of the whole', () => {
  fc.assert(
    fc.property(anyText, fc.array(fc.nat(40), { maxLength: 8 }), (text, cuts) => {
      const at = [...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
      const pieces = at.map((end, index) => text.slice(index === 0 ? 0 : at[index - 1], end));
      const deltas = storableDeltas();
      const stored = pieces.map((piece) => deltas.next(piece));
      expect(stored.every(isStorable)).toBe(true);
      expect(stored.join('') + deltas.rest()).toBe(storableText(text));
      expect(deltas.rest()).toBe('');
    }),
  );
});
