import { judgePassword } from './password.js';

const names = ['ada.lovelace@example.com', 'Analytical Engines', null];

test.each([
  ['eleven characters', 'kqzvbnmtrwp', 'short'],
  ['eleven characters of two code units each', '🗼'.repeat(11), 'short'],
  ['129 characters', 'kqzvb'.repeat(26).slice(0, 129), 'long'],
  ['what becomes longer in its normal form', `${'ﷺ'.repeat(10)}kqzvbnm`, 'long'],
  ['the address', 'Ada.Lovelace@Example.com', 'your-name'],
  ['the name of the organization with a number behind it', 'analytical engines1', 'your-name'],
  ['a known one with digits around it', '12password34', 'common'],
  ['a known one in capitals', 'QwertyUiop123!', 'common'],
  ['a row of digits', '123456789012', 'common'],
  ['a row of digits from its end', '987654321098', 'common'],
  ['one character', 'aaaaaaaaaaaaaaaa', 'common'],
  ['a pattern', 'abababababab', 'common'],
])('%s is refused', (_, given, reason) => {
  expect(judgePassword(given, 'password', names)).toEqual({ ok: false, failure: { _tag: 'PasswordRefused', field: 'password', reason: given.startsWith('ﷺ') ? 'long' : reason } });
});

test.each(['kqzvbnmtrwpx', 'correct horse battery', '  leading and trailing  ', '🗼🐎🔋🖇️ staple it 42', 'kqzvb'.repeat(25)])('"%s" is taken', (given) => {
  expect(judgePassword(given, 'password', names)).toEqual({ ok: true, value: given.normalize('NFKC') });
});

test('two spellings of one text are one password', () => {
  const [composed, decomposed] = ['Zürich im Frühling', 'Zürich im Frühling'.normalize('NFD')];
  expect(judgePassword(decomposed, 'new', names)).toEqual(judgePassword(composed, 'new', names));
  expect(judgePassword('ｆｕｌｌｗｉｄｔｈ４２！', 'new', names)).toMatchObject({ value: 'fullwidth42!' });
});
