import { firstMismatch } from './json-schema.js';

const entry = { type: 'object', properties: { id: { type: 'string' }, tags: { type: 'array', items: { type: 'string' } } }, required: ['id'] };
const tree = { type: 'object', properties: { value: { type: 'number' }, children: { type: 'array', items: { $ref: '#' } } } };
const doubling = { $defs: { a: { allOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] } }, $ref: '#/$defs/a' };
const forever = { anyOf: [{ $ref: '#' }, { $ref: '#' }] };
const tooComplex = 'cannot be checked: its schema is too complex';

test.each<[rule: string, schema: unknown, value: unknown, mismatch: string | null]>([
  ['true allows all', true, { a: 1 }, null],
  ['false allows nothing', false, 1, ' is not allowed'],
  ['no schema allows all', undefined, 1, null],
  ['unknown keywords forbid nothing', { type: 'string', widget: 'x', constructor: 1 }, 'a', null],
  ['an unknown type forbids nothing', { type: 'constructor' }, 'a', null],
  ['type', { type: 'string' }, 1, ' must be of type string'],
  ['types', { type: ['string', 'null'] }, 1, ' must be of type string or null'],
  ['null has its type', { type: ['string', 'null'] }, null, null],
  ['null is no object', { type: 'object' }, null, ' must be of type object'],
  ['a list is no object', { type: 'object' }, [], ' must be of type object'],
  ['1.0 is an integer', { type: 'integer' }, 1.0, null],
  ['1.5 is none', { type: 'integer' }, 1.5, ' must be of type integer'],
  ['enum', { enum: ['a', 2] }, 'b', ' must be one of "a", 2'],
  ['enum compares JSON, not the order of keys', { enum: [{ a: 1, b: [2] }] }, { b: [2], a: 1 }, null],
  ['const', { const: 1 }, 2, ' must be 1'],
  ['a property is named', entry, { id: 1 }, 'id must be of type string'],
  ['a list entry is named', entry, { id: 'a', tags: ['x', 2] }, 'tags[1] must be of type string'],
  ['a missing property is named with its path', { properties: { entries: { items: entry } } }, { entries: [{ id: 'a' }, {}] }, 'entries[1].id is missing'],
  ['an inherited name does not count as present', { type: 'object', required: ['toString'] }, {}, 'toString is missing'],
  ['a property __proto__ is one like others', { properties: {}, additionalProperties: false }, JSON.parse('{"__proto__": 1}'), '__proto__ is not known'],
  ['additional properties have a schema', { additionalProperties: { type: 'number' } }, { a: 'x' }, 'a must be of type number'],
  ['with patterns no property is additional', { patternProperties: { '^x-': {} }, additionalProperties: false }, { 'x-a': 1 }, null],
  ['a tuple', { prefixItems: [{ type: 'string' }], items: { type: 'number' } }, ['a', 'b'], '[1] must be of type number'],
  ['its first place', { prefixItems: [{ type: 'string' }], items: { type: 'number' } }, [1], '[0] must be of type string'],
  ['nothing after it', { prefixItems: [{}], items: false }, [1, 2], '[1] is not allowed'],
  ['a tuple of draft 7', { items: [{ type: 'string' }] }, [1, 2], '[0] must be of type string'],
  ['minLength counts characters', { minLength: 2 }, '😀', ' must have at least 2 characters'],
  ['maxLength', { maxLength: 1 }, 'ab', ' must have at most 1 characters'],
  ['minimum', { minimum: 1 }, 0, ' must be at least 1'],
  ['maximum', { maximum: 1 }, 2, ' must be at most 1'],
  ['exclusiveMinimum', { exclusiveMinimum: 1 }, 1, ' must be more than 1'],
  ['exclusiveMaximum', { exclusiveMaximum: 1 }, 1, ' must be less than 1'],
  ['multipleOf', { multipleOf: 0.1 }, 0.25, ' must be a multiple of 0.1'],
  ['multipleOf forgives binary fractions', { multipleOf: 0.1 }, 0.3, null],
  ['a number limit says nothing about text', { minimum: 5 }, 'a', null],
  ['minItems', { minItems: 1 }, [], ' must have at least 1 entries'],
  ['maxItems', { maxItems: 1 }, [1, 2], ' must have at most 1 entries'],
  [
    'uniqueItems',
    { uniqueItems: true },
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    ' must not have equal entries',
  ],
  ['minProperties', { minProperties: 1 }, {}, ' must have at least 1 properties'],
  ['maxProperties', { maxProperties: 0 }, { a: 1 }, ' must have at most 0 properties'],
  ['allOf', { allOf: [{ type: 'string' }, { minLength: 2 }] }, 'a', ' must have at least 2 characters'],
  ['anyOf', { anyOf: [{ type: 'string' }, { type: 'null' }] }, 1, ' fits none of its allowed forms: must be of type string'],
  ['anyOf tells of the form that got furthest', { anyOf: [{ type: 'null' }, entry] }, { id: 1 }, 'id must be of type string'],
  ['oneOf', { oneOf: [{ type: 'number' }, { type: 'integer' }] }, 1, ' fits more than one of its allowed forms'],
  ['one of two', { oneOf: [{ type: 'number' }, { type: 'string' }] }, 1, null],
  ['not', { not: { type: 'string' } }, 'a', ' has a form that is not allowed'],
  ['if then', { if: { properties: { kind: { const: 'a' } } }, then: { required: ['a'] }, else: { required: ['b'] } }, { kind: 'a' }, 'a is missing'],
  ['if else', { if: { properties: { kind: { const: 'a' } } }, then: { required: ['a'] }, else: { required: ['b'] } }, { kind: 'b' }, 'b is missing'],
  ['a reference to a definition', { $defs: { 'a/b': { type: 'string' } }, items: { $ref: '#/$defs/a~1b' } }, [1], '[0] must be of type string'],
  ['a reference to the whole', tree, { children: [{ children: [{ value: 'x' }] }] }, 'children[0].children[0].value must be of type number'],
  ['a reference elsewhere is not followed', { $ref: 'other.json#/x' }, 1, null],
  ['a reference to nothing forbids nothing', { $ref: '#/$defs/constructor' }, 1, null],
])('%s', (_rule, schema, value, mismatch) => {
  const found = firstMismatch(schema, value);
  expect(found && `${found.path} ${found.message}`).toBe(mismatch);
});

test.each([
  ['a reference to itself', { $ref: '#' }],
  ['references that double', doubling],
  ['alternatives that double', forever],
])('%s ends soon', (_what, schema) => {
  const begun = performance.now();
  expect(firstMismatch(schema, 1)?.message).toContain(tooComplex);
  expect(performance.now() - begun).toBeLessThan(10_000);
});
