import fc from 'fast-check';
import type { Json } from './attributes.js';
import { matches, readFilter, readPatchPath } from './filter.js';

const ada: Json = {
  userName: 'Ada@Example.com',
  active: true,
  name: { familyName: 'O"Malley' },
  emails: [
    { value: 'ada@example.com', type: 'work', primary: true },
    { value: 'ada@home.example', type: 'home' },
  ],
  tags: ['one', 'two'],
  'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { department: 'Engines' },
};
const isMeant = (text: string): boolean => {
  const filter = readFilter(text);
  if (!filter.ok) throw new Error(filter.failure.detail);
  return matches(filter.value, ada);
};

test.each<[string, boolean]>([
  ['userName eq "ada@example.com"', true],
  ['USERNAME EQ "ADA@EXAMPLE.COM"', true],
  ['urn:ietf:params:scim:schemas:core:2.0:User:userName eq "ada@example.com"', true],
  ['userName ne "ada@example.com"', false],
  ['name.familyName eq "O\\"Malley"', true],
  ['name.familyName co "mal"', true],
  ['userName sw "ada" and userName ew ".com"', true],
  ['userName gt "a" and userName lt "b"', true],
  ['title pr', false],
  ['not (title pr)', true],
  ['active eq true', true],
  ['active eq "True"', true],
  ['active eq false', false],
  ['title eq null', false],
  ['emails.value eq "ada@home.example"', true],
  ['emails[type eq "work" and value ew "home.example"]', false],
  ['emails[type eq "home"].value eq "ada@home.example"', true],
  ['emails[type eq "home" or primary eq true]', true],
  ['tags eq "two"', true],
  ['tags.value eq "two"', true],
  ['urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department eq "engines"', true],
  // `and` binds closer than `or`.
  ['userName pr or title pr and active eq false', true],
  ['(userName pr or title pr) and active eq false', false],
])('%s is %s', (text, meant) => expect(isMeant(text)).toBe(meant));

test.each([
  '',
  'userName',
  'userName eq',
  'userName is "a"',
  'userName eq "a',
  'userName eq a',
  'userName eq "a" "b"',
  'eq "a"',
  '(userName pr',
  'userName pr)',
  'not userName pr',
  'emails[type eq "work"',
  'emails[type eq "work"].a.b eq "c"',
  '__proto__ eq "a"',
  'a.constructor pr',
  'userName eq "\\q"',
  'userName eq "\\u0000"',
  `${'('.repeat(30)}a pr${')'.repeat(30)}`,
  Array.from({ length: 51 }, () => 'a pr').join(' or '),
  `a eq "${'x'.repeat(4_000)}"`,
])('%s is no filter', (text) => expect(readFilter(text)).toMatchObject({ ok: false, failure: { scimType: 'invalidFilter' } }));

test.each<[string, object]>([
  ['active', { path: ['active'], filter: null, sub: null }],
  ['NAME.familyname', { path: ['name', 'familyName'], filter: null, sub: null }],
  ['emails[type eq "work"].value', { path: ['emails'], filter: { op: 'eq', path: ['type'], value: 'work' }, sub: 'value' }],
  ['members[value eq "x"]', { path: ['members'], sub: null }],
  ['urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager.value', { path: ['urn:ietf:params:scim:schemas:extension:enterprise:2.0:User', 'manager', 'value'] }],
  ['urn:ietf:params:scim:schemas:extension:enterprise:2.0:User', { path: ['urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'] }],
])('%s leads to a place', (text, place) => expect(readPatchPath(text)).toMatchObject({ ok: true, value: place }));

test.each(['', 'a[', 'a[b eq "c"]d', 'a[b eq "c"].d.e', '__proto__.x', 'name.constructor', 'a b', 'urn:ietf:params:scim:schemas:core:2.0:User'])('%j leads to none', (text) =>
  expect(readPatchPath(text)).toMatchObject({ ok: false, failure: { scimType: 'invalidPath' } }),
);

test('any text is a filter or none, at once', () => {
  const piece = fc.constantFrom('"', '\n', '\\', '(', ')', '[', ']', '.', 'a', ' eq ', ' and ', ' not ', '"x"', ' pr', '1', '-', ':', 'urn:', '\0', '😀');
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join('')),
      ),
      (text) => {
        const read = readFilter(text);
        if (read.ok) matches(read.value, ada);
      },
    ),
    { numRuns: 2_000 },
  );
  expect(readFilter(`a eq "${'\n'.repeat(3_000)}`).ok).toBe(false);
});
