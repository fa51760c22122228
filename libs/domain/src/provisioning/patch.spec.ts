import fc from 'fast-check';
import type { JsonObject } from './attributes.js';
import { applyPatch, readPatch } from './patch.js';

const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const ada = (): JsonObject => ({
  userName: 'ada@example.com',
  name: { givenName: 'Ada', familyName: 'Byron' },
  emails: [{ value: 'ada@example.com', type: 'work', primary: true }],
  roles: [{ value: 'a' }, { value: 'b' }],
});
const patched = (...Operations: JsonObject[]) => {
  const read = readPatch({ Operations });
  return read.ok ? applyPatch(ada(), read.value) : read;
};

test.each<[string, JsonObject[], JsonObject]>([
  ['a replacement', [{ op: 'replace', path: 'userName', value: 'x' }], { userName: 'x' }],
  ['in capitals', [{ op: 'REPLACE', path: 'USERNAME', value: 'x' }], { userName: 'x' }],
  ['of a part', [{ op: 'Replace', path: 'name.familyName', value: 'Lovelace' }], { name: { givenName: 'Ada', familyName: 'Lovelace' } }],
  ['of some parts', [{ op: 'replace', path: 'name', value: { familyName: 'Lovelace' } }], { name: { givenName: 'Ada', familyName: 'Lovelace' } }],
  ['without a path', [{ op: 'replace', value: { userName: 'x', 'name.familyName': 'Lovelace' } }], { userName: 'x', name: { givenName: 'Ada', familyName: 'Lovelace' } }],
  ['of what is not there', [{ op: 'replace', path: 'title', value: 'Countess' }], { title: 'Countess' }],
  ['of all values', [{ op: 'replace', path: 'roles', value: [{ value: 'c' }] }], { roles: [{ value: 'c' }] }],
  ['of a part of one value', [{ op: 'replace', path: 'emails[type eq "work"].value', value: 'x' }], { emails: [{ value: 'x', type: 'work', primary: true }] }],
  ['of a value that is not there yet', [{ op: 'Replace', path: 'phoneNumbers[type eq "mobile"].value', value: '1' }], { phoneNumbers: [{ type: 'mobile', value: '1' }] }],
  ['a value', [{ op: 'add', path: 'roles', value: { value: 'c' } }], { roles: [{ value: 'a' }, { value: 'b' }, { value: 'c' }] }],
  ['values that are there', [{ op: 'Add', path: 'roles', value: [{ value: 'b' }, { value: 'c' }] }], { roles: [{ value: 'a' }, { value: 'b' }, { value: 'c' }] }],
  [
    'another primary value',
    [{ op: 'add', path: 'emails', value: [{ value: 'x', primary: true }] }],
    {
      emails: [
        { value: 'ada@example.com', type: 'work', primary: false },
        { value: 'x', primary: true },
      ],
    },
  ],
  ['a part of an extension', [{ op: 'add', path: `${enterprise}:department`, value: 'Engines' }], { [enterprise]: { department: 'Engines' } }],
  ['an extension', [{ op: 'add', value: { [enterprise]: { department: 'Engines' } } }], { [enterprise]: { department: 'Engines' } }],
  ['a value by its filter', [{ op: 'remove', path: 'roles[value eq "a"]' }], { roles: [{ value: 'b' }] }],
  ['a value by its value', [{ op: 'Remove', path: 'roles', value: [{ value: 'a' }] }], { roles: [{ value: 'b' }] }],
  [
    'what is not there',
    [
      { op: 'remove', path: 'roles[value eq "z"]' },
      { op: 'remove', path: 'title.x' },
    ],
    {},
  ],
  ['what is ours among others', [{ op: 'replace', value: { id: 'x', meta: {}, userName: 'x' } }], { userName: 'x' }],
])('%s', (_, operations, becomes) => expect(patched(...operations)).toEqual({ ok: true, value: { ...ada(), ...becomes } }));

test('all values go with the last, and an attribute with its removal', () => {
  expect(patched({ op: 'remove', path: 'roles[value eq "a" or value eq "b"]' }, { op: 'remove', path: 'name' })).toEqual({
    ok: true,
    value: { userName: 'ada@example.com', emails: ada()['emails'] },
  });
});

test.each<[string, JsonObject, string]>([
  ['another op', { op: 'move', path: 'a', value: 1 }, 'invalidSyntax'],
  ['a removal of nothing', { op: 'remove' }, 'noTarget'],
  ['no value', { op: 'add', path: 'title' }, 'invalidValue'],
  ['no object', { op: 'add', value: 'x' }, 'invalidValue'],
  ['a path that is none', { op: 'add', path: 'a b', value: 'x' }, 'invalidPath'],
  ['an id', { op: 'replace', path: 'id', value: 'x' }, 'mutability'],
  ['a value that no filter describes', { op: 'replace', path: 'emails[type ne "work"].value', value: 'x' }, 'noTarget'],
  ['the prototype', { op: 'replace', path: '__proto__.polluted', value: 'x' }, 'invalidPath'],
  ['the prototype by a key', { op: 'add', value: { 'constructor.prototype.polluted': 'x' } }, 'invalidPath'],
  ['the prototype in a value', { op: 'add', path: 'title', value: JSON.parse('{"__proto__":{"polluted":"x"}}') as JsonObject }, 'invalidValue'],
])('refused: %s', (_, operation, scimType) => {
  expect(patched(operation)).toMatchObject({ ok: false, failure: { scimType } });
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

test('whatever is sent, it is applied or refused, what was there stays as it was, and so do all other objects', () => {
  const word = fc.constantFrom('name', 'emails', '__proto__', 'constructor', 'prototype', 'value', 'toString', '$ref', 'members', 'type');
  const path = fc
    .array(word, { minLength: 1, maxLength: 3 })
    .chain((words) => fc.constantFrom(words.join('.'), `${words[0]}[value eq "a"].${words.at(-1)}`, `${words[0]}[type eq "work"]`));
  const value = fc.letrec<{ any: unknown }>((tie) => ({
    any: fc.oneof({ depthSize: 'small' }, fc.string(), fc.boolean(), fc.constant(null), fc.array(tie('any'), { maxLength: 3 }), fc.dictionary(word, tie('any'), { maxKeys: 3 })),
  })).any;
  const operation = fc.record({ op: fc.constantFrom('add', 'Replace', 'remove'), path: fc.option(path, { nil: undefined }), value }, { requiredKeys: ['op'] });
  const own = Object.getOwnPropertyNames(Object.prototype);
  fc.assert(
    fc.property(fc.array(operation, { minLength: 1, maxLength: 4 }), (Operations) => {
      const [before, read] = [ada(), readPatch({ Operations } as unknown as JsonObject)];
      if (read.ok) applyPatch(before, read.value);
      expect(before).toEqual(ada());
      expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(own);
    }),
    { numRuns: 2_000 },
  );
});
