import { maxNesting } from '@domain/chats/storable-item.js';

/** The first thing in a value that its schema forbids. `path` is empty for the value itself, else like `items[2].status`. */
export type Mismatch = { readonly path: string; readonly message: string };

type Schema = Readonly<Record<string, unknown>>;
type Place = {
  readonly root: unknown;
  readonly schema: Schema;
  readonly path: string;
  readonly depth: number;
  /** Shared by the whole check: a schema whose references multiply must not hold the process. */
  readonly budget: { left: number };
};
type Rule = (rule: unknown, value: unknown, place: Place) => Mismatch | null;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null && !Array.isArray(value);
const listOf = (rule: unknown): readonly unknown[] => (Array.isArray(rule) ? rule : []);
const shown = (value: unknown): string => JSON.stringify(value).slice(0, 200);
const lengthOf = (text: string): number => [...text].length;
const property = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

/** Equal JSON has equal canonical text; the order of keys does not count. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, child: unknown) => (isObject(child) ? Object.fromEntries(Object.entries(child).sort(([a], [b]) => (a < b ? -1 : 1))) : child));

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: isObject,
};
const hasType = (type: unknown, value: unknown): boolean => typeof type !== 'string' || !Object.hasOwn(types, type) || types[type]!(value);

/** A rule on one kind of value with a number as its limit; other kinds pass. */
const limit =
  <A>(measure: (value: unknown) => A | null, breaks: (measured: A, limit: number) => boolean, message: (limit: number) => string): Rule =>
  (rule, value, { path }) => {
    const measured = measure(value);
    return typeof rule === 'number' && measured !== null && breaks(measured, rule) ? { path, message: message(rule) } : null;
  };
const text = (value: unknown) => (typeof value === 'string' ? lengthOf(value) : null);
const number = (value: unknown) => (typeof value === 'number' ? value : null);
const entries = (value: unknown) => (Array.isArray(value) ? value.length : null);
const keys = (value: unknown) => (isObject(value) ? Object.keys(value).length : null);
const below = (a: number, b: number) => a < b;
const above = (a: number, b: number) => a > b;

function firstOf<A>(list: Iterable<A>, check: (element: A) => Mismatch | null): Mismatch | null {
  for (const element of list) {
    const mismatch = check(element);
    if (mismatch) return mismatch;
  }
  return null;
}

const within = (schema: unknown, value: unknown, place: Place, path = place.path) => check(schema, value, { ...place, path, depth: place.depth + 1 });

/** Of several alternatives, the mismatch that got furthest into the value says most about what was meant. */
function anyOf(rule: unknown, value: unknown, place: Place): Mismatch | null {
  const mismatches = listOf(rule).map((schema) => within(schema, value, place));
  if (mismatches.length === 0 || mismatches.includes(null)) return null;
  const deepest = mismatches.reduce((best, next) => (next!.path.length > best!.path.length ? next : best))!;
  return deepest.path === place.path ? { path: place.path, message: `fits none of its allowed forms: ${deepest.message}` } : deepest;
}

function oneOf(rule: unknown, value: unknown, place: Place): Mismatch | null {
  const fitting = listOf(rule).filter((schema) => within(schema, value, place) === null).length;
  return fitting > 1 ? { path: place.path, message: 'fits more than one of its allowed forms' } : anyOf(rule, value, place);
}

function properties(rule: unknown, value: unknown, place: Place): Mismatch | null {
  if (!isObject(rule) || !isObject(value)) return null;
  const present = Object.keys(rule).filter((key) => Object.hasOwn(value, key));
  return firstOf(present, (key) => within(rule[key], value[key], place, property(place.path, key)));
}

function additionalProperties(rule: unknown, value: unknown, place: Place): Mismatch | null {
  // Patterns are not evaluated, so next to them no key can be called additional.
  if (!isObject(value) || place.schema.patternProperties !== undefined) return null;
  const known = isObject(place.schema.properties) ? place.schema.properties : {};
  const others = Object.keys(value).filter((key) => !Object.hasOwn(known, key));
  return firstOf(others, (key) => {
    const path = property(place.path, key);
    return rule === false ? { path, message: `is not known${namesOf(known)}` } : within(rule, value[key], place, path);
  });
}
const namesOf = (known: object): string => (Object.keys(known).length === 0 ? '' : `; known here: ${Object.keys(known).join(', ')}`);

function items(rule: unknown, value: unknown, place: Place): Mismatch | null {
  if (!Array.isArray(value)) return null;
  const first = Array.isArray(rule) ? 0 : listOf(place.schema.prefixItems).length;
  return firstOf(value.slice(first).entries(), ([index, element]) => {
    const schema: unknown = Array.isArray(rule) ? rule[index] : rule;
    return schema === undefined ? null : within(schema, element, place, `${place.path}[${first + index}]`);
  });
}

function prefixItems(rule: unknown, value: unknown, place: Place): Mismatch | null {
  if (!Array.isArray(value)) return null;
  return firstOf(listOf(rule).slice(0, value.length).entries(), ([index, schema]) => within(schema, value[index], place, `${place.path}[${index}]`));
}

function required(rule: unknown, value: unknown, { path }: Place): Mismatch | null {
  if (!isObject(value)) return null;
  const missing = listOf(rule).find((key) => typeof key === 'string' && !Object.hasOwn(value, key)) as string | undefined;
  return missing === undefined ? null : { path: property(path, missing), message: 'is missing' };
}

/** References inside the same schema (`#/$defs/entry`). One that leads elsewhere is not followed and forbids nothing. */
function reference(rule: unknown, value: unknown, place: Place): Mismatch | null {
  if (typeof rule !== 'string' || !rule.startsWith('#')) return null;
  const steps = rule.slice(1).split('/').slice(1);
  const target = steps.reduce<unknown>((node, step) => {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    return typeof node === 'object' && node !== null && Object.hasOwn(node, key) ? (node as Schema)[key] : undefined;
  }, place.root);
  return target === undefined ? null : within(target, value, place);
}

function condition(rule: unknown, value: unknown, place: Place): Mismatch | null {
  const branch = within(rule, value, place) === null ? place.schema.then : place.schema.else;
  return branch === undefined ? null : within(branch, value, place);
}

const rules: Readonly<Record<string, Rule>> = {
  type: (rule, value, { path }) => {
    const allowed = Array.isArray(rule) ? (rule as unknown[]) : [rule];
    return allowed.some((type) => hasType(type, value)) ? null : { path, message: `must be of type ${allowed.join(' or ')}` };
  },
  enum: (rule, value, { path }) =>
    !Array.isArray(rule) || rule.some((choice) => canonical(choice) === canonical(value)) ? null : { path, message: `must be one of ${rule.map(shown).join(', ')}` },
  const: (rule, value, { path }) => (canonical(rule) === canonical(value) ? null : { path, message: `must be ${shown(rule)}` }),
  required,
  properties,
  additionalProperties,
  items,
  prefixItems,
  anyOf,
  oneOf,
  allOf: (rule, value, place) => firstOf(listOf(rule), (schema) => within(schema, value, place)),
  not: (rule, value, place) => (within(rule, value, place) === null ? { path: place.path, message: 'has a form that is not allowed' } : null),
  if: condition,
  $ref: reference,
  minLength: limit(text, below, (n) => `must have at least ${n} characters`),
  maxLength: limit(text, above, (n) => `must have at most ${n} characters`),
  minimum: limit(number, below, (n) => `must be at least ${n}`),
  maximum: limit(number, above, (n) => `must be at most ${n}`),
  exclusiveMinimum: limit(
    number,
    (value, n) => value <= n,
    (n) => `must be more than ${n}`,
  ),
  exclusiveMaximum: limit(
    number,
    (value, n) => value >= n,
    (n) => `must be less than ${n}`,
  ),
  multipleOf: limit(
    number,
    (value, n) => n > 0 && Math.abs(value / n - Math.round(value / n)) > 1e-9,
    (n) => `must be a multiple of ${n}`,
  ),
  minItems: limit(entries, below, (n) => `must have at least ${n} entries`),
  maxItems: limit(entries, above, (n) => `must have at most ${n} entries`),
  minProperties: limit(keys, below, (n) => `must have at least ${n} properties`),
  maxProperties: limit(keys, above, (n) => `must have at most ${n} properties`),
  uniqueItems: (rule, value, { path }) =>
    rule === true && Array.isArray(value) && new Set(value.map(canonical)).size < value.length ? { path, message: 'must not have equal entries' } : null,
};

function check(schema: unknown, value: unknown, place: Place): Mismatch | null {
  if (schema === false) return { path: place.path, message: 'is not allowed' };
  if (!isObject(schema)) return null;
  place.budget.left -= 1;
  if (place.depth > maxNesting || place.budget.left < 0) return { path: place.path, message: 'cannot be checked: its schema is too complex' };
  const here = { ...place, schema };
  return firstOf(Object.keys(schema), (keyword) => (Object.hasOwn(rules, keyword) ? rules[keyword]!(schema[keyword], value, here) : null));
}

/**
 * Checks a JSON value. The schema is read, never compiled, and unknown keywords forbid nothing. `pattern` and `format` are left to the
 * tool: an expression from outside could hold the process for hours on a short text.
 */
export const firstMismatch = (schema: unknown, value: unknown): Mismatch | null => check(schema, value, { root: schema, schema: {}, path: '', depth: 0, budget: { left: 50_000 } });
