import { fail, ok, type Result } from '../result.js';
import { isObject, segmentsOf, valueOf, type Json, type JsonObject } from './attributes.js';
import type { ScimInvalid } from './failures.js';

export const comparisons = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const;
export type Comparison = (typeof comparisons)[number];
export type Scalar = string | number | boolean | null;

/** A filter of RFC 7644, 3.4.2.2. `path`: the names that lead to the attribute. `within`: of one value of a multi-valued attribute. */
export type Filter =
  | { readonly op: 'and' | 'or'; readonly of: readonly Filter[] }
  | { readonly op: 'not'; readonly of: Filter }
  | { readonly op: 'pr'; readonly path: readonly string[] }
  | { readonly op: Comparison; readonly path: readonly string[]; readonly value: Scalar }
  | { readonly op: 'within'; readonly path: readonly string[]; readonly of: Filter };

/** What a PATCH is about: an attribute, of its values those that a filter matches, and of those a part. */
export type PatchPath = { readonly path: readonly string[]; readonly filter: Filter | null; readonly sub: string | null };

const longestFilter = 4_000;
const mostComparisons = 50;
const deepest = 20;

type Token = { readonly kind: 'word' | 'value' | 'sign'; readonly text: string };
/** One alternative begins where another cannot: no text is read twice. */
const token = /\s*(?:("(?:[^"\\]|\\.)*")|([()[\]])|(\.?[A-Za-z$][\w.:$-]*)|(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?))/sy;

const unstorable = /\0|\p{Surrogate}/u;

class Malformed extends Error {}

class Reader {
  private readonly tokens: Token[] = [];
  private at = 0;
  private count = 0;

  constructor(text: string) {
    if (text.length > longestFilter) throw new Malformed(`is longer than ${longestFilter} characters`);
    const end = text.trimEnd().length;
    token.lastIndex = 0;
    for (let place = 0; place < end; place = token.lastIndex) {
      token.lastIndex = place;
      const found = token.exec(text);
      if (!found) throw new Malformed(`has something unexpected at character ${place + 1}`);
      const [, quoted, sign, word, number] = found;
      if (sign !== undefined) this.tokens.push({ kind: 'sign', text: sign });
      else if (word !== undefined) this.tokens.push({ kind: 'word', text: word });
      else this.tokens.push({ kind: 'value', text: quoted ?? number ?? '' });
    }
  }

  end(): void {
    if (this.at < this.tokens.length) throw new Malformed(`has something behind its end: ${this.tokens[this.at]!.kind}`);
  }

  either(depth = 0): Filter {
    if (depth > deepest) throw new Malformed('is nested too deeply');
    const of = [this.both(depth)];
    while (this.takeWord('or')) of.push(this.both(depth));
    return of.length === 1 ? of[0]! : { op: 'or', of };
  }

  private both(depth: number): Filter {
    const of = [this.one(depth)];
    while (this.takeWord('and')) of.push(this.one(depth));
    return of.length === 1 ? of[0]! : { op: 'and', of };
  }

  private one(depth: number): Filter {
    if (this.takeWord('not')) return { op: 'not', of: this.grouped(depth) };
    if (this.tokens[this.at]?.text === '(') return this.grouped(depth);
    const path = this.path();
    if (this.take('[')) {
      const of = this.either(depth + 1);
      this.expect(']');
      // Not of the standard, but what Entra asks for: `emails[type eq "work"].value eq "a@b.example"`.
      const { kind, text = '' } = this.tokens[this.at] ?? {};
      if (kind !== 'word' || !text.startsWith('.')) return { op: 'within', path, of };
      return { op: 'within', path, of: { op: 'and', of: [of, this.compare([this.part()])] } };
    }
    return this.compare(path);
  }

  private compare(path: readonly string[]): Filter {
    const op = this.next('word').text.toLowerCase();
    if ((this.count += 1) > mostComparisons) throw new Malformed(`compares more than ${mostComparisons} times`);
    if (op === 'pr') return { op, path };
    if (!isComparison(op)) throw new Malformed('has an operator that there is not');
    return { op, path, value: this.scalar() };
  }

  private grouped(depth: number): Filter {
    this.expect('(');
    const filter = this.either(depth + 1);
    this.expect(')');
    return filter;
  }

  path(): readonly string[] {
    const segments = segmentsOf(this.next('word').text);
    if (!segments) throw new Malformed('names no attribute where it should');
    return segments;
  }

  patchPath(): PatchPath {
    const path = this.path();
    if (!this.take('[')) return { path, filter: null, sub: null };
    const filter = this.either();
    this.expect(']');
    if (this.at === this.tokens.length) return { path, filter, sub: null };
    return { path, filter, sub: this.part() };
  }

  /** What stands behind a bracket. */
  private part(): string {
    const { text } = this.next('word');
    const [sub, ...more] = (text.startsWith('.') ? segmentsOf(text.slice(1)) : null) ?? [];
    if (sub === undefined || more.length > 0) throw new Malformed('names no part of a value behind the bracket');
    return sub;
  }

  private scalar(): Scalar {
    const found = this.tokens[this.at];
    this.at += 1;
    if (found?.kind === 'word' && !/^(?:true|false|null)$/i.test(found.text)) throw new Malformed('compares with what is no value: texts stand in quotes');
    if (!found || found.kind === 'sign') throw new Malformed('compares with nothing');
    const value = this.parsed(found.kind === 'word' ? found.text.toLowerCase() : found.text);
    if (typeof value === 'string' && unstorable.test(value)) throw new Malformed('compares with a text that cannot be stored');
    return value;
  }

  private parsed(text: string): Scalar {
    try {
      return JSON.parse(text) as Scalar;
    } catch {
      throw new Malformed('compares with a text that is not valid JSON');
    }
  }

  private take(sign: string): boolean {
    const is = this.tokens[this.at]?.kind === 'sign' && this.tokens[this.at]?.text === sign;
    if (is) this.at += 1;
    return is;
  }

  private takeWord(word: string): boolean {
    const found = this.tokens[this.at];
    const is = found?.kind === 'word' && found.text.toLowerCase() === word;
    if (is) this.at += 1;
    return is;
  }

  private expect(sign: string): void {
    if (!this.take(sign)) throw new Malformed(`lacks a ${sign}`);
  }

  private next(kind: Token['kind']): Token {
    const found = this.tokens[this.at];
    this.at += 1;
    if (found?.kind !== kind) throw new Malformed(`ends too early, or has something else where a ${kind} should be`);
    return found;
  }
}

const isComparison = (op: string): op is Comparison => comparisons.some((known) => known === op);

function readAs<T>(text: string, read: (reader: Reader) => T, scimType: 'invalidFilter' | 'invalidPath'): Result<T, ScimInvalid> {
  try {
    const reader = new Reader(text);
    const found = read(reader);
    reader.end();
    return ok(found);
  } catch (error) {
    if (error instanceof Malformed) return fail({ _tag: 'ScimInvalid', scimType, detail: `The ${scimType === 'invalidPath' ? 'path' : 'filter'} ${error.message}.` });
    throw error;
  }
}

export const readFilter = (text: string): Result<Filter, ScimInvalid> => readAs(text, (reader) => reader.either(), 'invalidFilter');
export const readPatchPath = (text: string): Result<PatchPath, ScimInvalid> => readAs(text, (reader) => reader.patchPath(), 'invalidPath');

/** All that a path leads to: of a multi-valued attribute each value. */
function valuesAt(value: Json, [name, ...rest]: readonly string[]): Json[] {
  if (Array.isArray(value)) return value.flatMap((each) => valuesAt(each, name === undefined ? [] : [name, ...rest]));
  if (name === undefined) return [value];
  // A simple value of a multi-valued attribute is its own `value`.
  if (!isObject(value)) return name === 'value' && rest.length === 0 ? [value] : [];
  const inner = valueOf(value, name);
  return inner === undefined ? [] : valuesAt(inner, rest);
}

/** Texts are compared without their case. Some directories send `"True"` for `true`. */
const comparable = (value: Json): Scalar => (typeof value === 'string' ? value.toLowerCase() : isScalar(value) ? value : null);
const isScalar = (value: Json): value is Scalar => value === null || typeof value !== 'object';

type Test = (a: Scalar, b: Scalar) => boolean;
const ofTexts =
  (test: (a: string, b: string) => boolean): Test =>
  (a, b) =>
    typeof a === 'string' && typeof b === 'string' && test(a, b);
const ordered =
  (test: (order: number) => boolean): Test =>
  (a, b) =>
    a !== null && b !== null && typeof a === typeof b && typeof a !== 'boolean' && test(a > b ? 1 : a < b ? -1 : 0);

const tests: Readonly<Record<Comparison, Test>> = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  co: ofTexts((a, b) => a.includes(b)),
  sw: ofTexts((a, b) => a.startsWith(b)),
  ew: ofTexts((a, b) => a.endsWith(b)),
  gt: ordered((order) => order > 0),
  ge: ordered((order) => order >= 0),
  lt: ordered((order) => order < 0),
  le: ordered((order) => order <= 0),
};

const compares = (op: Comparison, given: Json, wanted: Scalar): boolean =>
  tests[op](comparable(typeof given === 'boolean' && typeof wanted === 'string' ? String(given) : given), comparable(wanted));

/** Whether a value is one that a filter means. */
export function matches(filter: Filter, value: Json): boolean {
  switch (filter.op) {
    case 'and':
      return filter.of.every((each) => matches(each, value));
    case 'or':
      return filter.of.some((each) => matches(each, value));
    case 'not':
      return !matches(filter.of, value);
    case 'within':
      return valuesAt(value, filter.path).some((each) => matches(filter.of, each));
    case 'pr':
      return valuesAt(value, filter.path).some((each) => each !== null && each !== '');
    default: {
      const found = valuesAt(value, filter.path);
      return filter.op === 'ne' ? !found.some((each) => compares('eq', each, filter.value)) : found.some((each) => compares(filter.op, each, filter.value));
    }
  }
}

/** What a new value has to be, so that the filter matches it; `null`: the filter does not say. */
export function valueFor(filter: Filter): JsonObject | null {
  if (filter.op === 'eq' && filter.path.length === 1) return { [filter.path[0]!]: filter.value };
  if (filter.op !== 'and') return null;
  const parts = filter.of.map(valueFor);
  return parts.includes(null) ? null : Object.assign({}, ...parts);
}
