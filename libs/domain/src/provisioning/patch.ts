import { fail, ok, type Result } from '../result.js';
import { isObject, isSafeName, keyIn, segmentsOf, valueOf, type Json, type JsonObject } from './attributes.js';
import type { ScimInvalid } from './failures.js';
import { matches, readPatchPath, valueFor, type PatchPath } from './filter.js';

export type PatchOperation = { readonly op: 'add' | 'replace' | 'remove'; readonly target: PatchPath; readonly value: Json | undefined };

export const patchSchema = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
export const mostOperations = 2_000;

export const invalid = (scimType: ScimInvalid['scimType'], detail: string): Result<never, ScimInvalid> => fail({ _tag: 'ScimInvalid', scimType, detail });

/** The operations of a PATCH. One without a path says an object: each of its attributes is an operation of its own (RFC 7644, 3.5.2). */
export function readPatch(body: JsonObject): Result<readonly PatchOperation[], ScimInvalid> {
  const given = valueOf(body, 'Operations');
  if (!Array.isArray(given) || given.length === 0) return invalid('invalidSyntax', 'A PATCH needs Operations.');
  if (given.length > mostOperations) return invalid('tooMany', `A PATCH has at most ${mostOperations} operations.`);
  const operations: PatchOperation[] = [];
  for (const each of given) {
    const read = readOperation(each);
    if (!read.ok) return read;
    operations.push(...read.value);
    if (operations.length > mostOperations) return invalid('tooMany', `A PATCH changes at most ${mostOperations} attributes.`);
  }
  return ok(operations);
}

/** Some directories send along what is ours to say: alone in a path it is refused, among others it is as if it were not there. */
const ours = new Set(['id', 'meta', 'schemas', 'groups']);

type Op = PatchOperation['op'];
const isOp = (name: string): name is Op => ['add', 'replace', 'remove'].includes(name);

function readOperation(given: Json): Result<readonly PatchOperation[], ScimInvalid> {
  if (!isObject(given)) return invalid('invalidSyntax', 'An operation is an object.');
  const [name, path, value] = [valueOf(given, 'op'), valueOf(given, 'path') ?? '', valueOf(given, 'value')];
  const op = typeof name === 'string' ? name.toLowerCase() : '';
  if (!isOp(op)) return invalid('invalidSyntax', 'The op of an operation is add, replace or remove.');
  if (typeof path !== 'string') return invalid('invalidPath', 'The path of an operation is a text.');
  return path === '' ? withoutPath(op, value) : withPath(op, path, value);
}

function withPath(op: Op, path: string, value: Json | undefined): Result<readonly PatchOperation[], ScimInvalid> {
  const target = readPatchPath(path);
  if (!target.ok) return target;
  return op !== 'remove' && value === undefined ? invalid('invalidValue', `The operation ${op} needs a value.`) : ok([{ op, target: target.value, value }]);
}

function withoutPath(op: Op, value: Json | undefined): Result<readonly PatchOperation[], ScimInvalid> {
  if (op === 'remove') return invalid('noTarget', 'The operation remove needs a path.');
  if (!isObject(value)) return invalid('invalidValue', 'An operation without a path needs an object as its value.');
  const operations: PatchOperation[] = [];
  for (const [key, inner] of Object.entries(value)) {
    const segments = segmentsOf(key);
    if (ours.has(segments?.[0] ?? '')) continue;
    if (!segments) return invalid('invalidPath', 'The value of an operation names something that is no attribute.');
    operations.push({ op, target: { path: segments, filter: null, sub: null }, value: inner });
  }
  return ok(operations);
}

/** What a resource is after a PATCH; what was given stays as it was. All of it counts or nothing. */
export function applyPatch(resource: JsonObject, operations: readonly PatchOperation[]): Result<JsonObject, ScimInvalid> {
  const patched = structuredClone(resource);
  for (const operation of operations) {
    const { value, target } = operation;
    if (value !== undefined && !isSafe(value)) return invalid('invalidValue', 'A value has a name that is no attribute.');
    if (target.path[0] === 'id') return invalid('mutability', 'An id does not change.');
    const applied = target.filter === null ? applyAt([patched], operation) : applyWithin(patched, operation, target.filter);
    if (!applied.ok) return applied;
  }
  return ok(patched);
}

const isSafe = (value: Json): boolean =>
  Array.isArray(value) ? value.every(isSafe) : !isObject(value) || Object.entries(value).every(([key, inner]) => isSafeName(key) && isSafe(inner));

/** Follows a path; what is missing on the way is made, but for a removal. Of a multi-valued attribute it goes to each value. */
function applyAt(at: readonly JsonObject[], { op, target, value }: PatchOperation): Result<null, ScimInvalid> {
  let objects = at;
  for (const name of target.path.slice(0, -1)) {
    objects = objects.flatMap((object) => {
      const key = keyIn(object, name);
      const inner = valueOf(object, name);
      if (Array.isArray(inner)) return inner.filter(isObject);
      if (isObject(inner)) return [inner];
      return op === 'remove' ? [] : [(object[key] = {})];
    });
  }
  const last = target.path.at(-1)!;
  for (const object of objects) change(object, last, op, value);
  return ok(null);
}

function applyWithin(resource: JsonObject, { op, target, value }: PatchOperation, filter: NonNullable<PatchPath['filter']>): Result<null, ScimInvalid> {
  const name = target.path.at(-1)!;
  const parent = target.path.slice(0, -1).reduce<JsonObject | null>((object, each) => {
    const inner = object && valueOf(object, each);
    return isObject(inner) ? inner : null;
  }, resource);
  const found = parent ? valueOf(parent, name) : undefined;
  const values = Array.isArray(found) ? found : [];
  const meant = values.filter((each) => matches(filter, each));
  if (meant.length === 0) {
    if (op === 'remove') return ok(null);
    // Directories change a value that is not there yet, and mean that there be one (RFC 7644, 3.5.2.3, says so of attributes).
    const fresh = valueFor(filter);
    if (!parent || !fresh || (target.sub === null && !isObject(value))) return invalid('noTarget', 'No value is one that the filter of the path means.');
    const made = target.sub === null ? { ...fresh, ...(value as JsonObject) } : { ...fresh, [target.sub]: value! };
    parent[keyIn(parent, name)] = [...values, made];
    keepOnePrimary(parent, name, made);
    return ok(null);
  }
  if (target.sub === null) {
    const rest = op === 'remove' ? values.filter((each) => !meant.includes(each)) : values.map((each) => (meant.includes(each) ? mergedOr(each, value!) : each));
    put(parent!, name, rest);
    return ok(null);
  }
  for (const each of meant) {
    if (!isObject(each)) return invalid('invalidPath', 'A simple value has no parts.');
    change(each, target.sub, op, value);
    keepOnePrimary(parent!, name, each);
  }
  return ok(null);
}

const mergedOr = (before: Json, value: Json): Json => (isObject(before) && isObject(value) ? { ...before, ...value } : value);

function change(object: JsonObject, name: string, op: PatchOperation['op'], value: Json | undefined): void {
  const before = valueOf(object, name);
  if (op === 'remove') {
    const gone = value === undefined || value === null ? null : [value].flat();
    put(object, name, gone && Array.isArray(before) ? before.filter((each) => !gone.some((one) => isSame(each, one))) : []);
    return;
  }
  if (Array.isArray(before) && op === 'add') {
    const added = [value!].flat().filter((each) => !before.some((known) => sameText(known, each)));
    put(object, name, [...before, ...added]);
    const last = added.at(-1);
    if (isObject(last)) keepOnePrimary(object, name, last);
    return;
  }
  object[keyIn(object, name)] = isObject(before) && isObject(value) ? mergedOr(before, value) : value!;
}

/** What has no value is not there. */
function put(object: JsonObject, name: string, values: Json[]): void {
  if (values.length > 0) object[keyIn(object, name)] = values;
  else delete object[keyIn(object, name)];
}

const sameText = (a: Json, b: Json): boolean => JSON.stringify(a) === JSON.stringify(b);
/** Directories name a value by its `value` alone. */
const isSame = (a: Json, b: Json): boolean => sameText(a, b) || (isObject(a) && isObject(b) && valueOf(b, 'value') !== undefined && valueOf(a, 'value') === valueOf(b, 'value'));

/** Of the values of an attribute one is the primary one: the last that was said to be (RFC 7644, 3.5.2). */
function keepOnePrimary(object: JsonObject, name: string, last: JsonObject): void {
  const values = valueOf(object, name);
  if (last['primary'] !== true || !Array.isArray(values)) return;
  for (const each of values) if (isObject(each) && each !== last && each['primary'] === true) each['primary'] = false;
}
