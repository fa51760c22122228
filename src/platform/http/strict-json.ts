import { fieldPath, invalidInput } from './invalid-input.js';

const maxDepth = 64;
/** Keys that reach an object's prototype when code copies them. */
export const refusedKeys = new Set(['__proto__', 'constructor', 'prototype']);
const loneSurrogate = /\p{Surrogate}/u;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const literal = /true|false|null/y;
const space = /[ \t\n\r]*/y;
const quote = 0x22;
const backslash = 0x5c;

/**
 * Reads the text once, before `JSON.parse`, for what that function lets through in silence: of two equal keys the last wins, numbers
 * lose digits, half characters and NUL come in (no database stores them), and nothing bounds the depth. Answers name the place.
 */
class Scanner {
  private at = 0;

  constructor(private readonly text: string) {}

  document(): void {
    this.value('', 1);
    this.skipSpace();
    if (this.at < this.text.length) this.refuse('', 'is not valid JSON: there is text after the value');
  }

  private value(path: string, depth: number): void {
    this.skipSpace();
    const first = this.text[this.at];
    if (first === '{' || first === '[') {
      if (depth > maxDepth) this.refuse(path, `is nested deeper than ${maxDepth} levels`);
      if (first === '{') this.object(path, depth);
      else this.array(path, depth);
    } else if (first === '"') this.string(path);
    else if (!this.match(literal)) this.number(path);
  }

  private object(path: string, depth: number): void {
    const seen = new Set<string>();
    for (this.at += 1, this.skipSpace(); !this.take('}');) {
      if (seen.size > 0) this.expect(',', path);
      this.skipSpace();
      if (this.text[this.at] !== '"') this.refuse(path, 'is not valid JSON: a key is expected');
      const key = this.string(path);
      const field = fieldPath(path, key);
      if (refusedKeys.has(key)) this.refuse(field, 'is not allowed as a key');
      if (seen.has(key)) this.refuse(field, 'is given twice');
      seen.add(key);
      this.skipSpace();
      this.expect(':', field);
      this.value(field, depth + 1);
      this.skipSpace();
    }
  }

  private array(path: string, depth: number): void {
    let index = 0;
    for (this.at += 1, this.skipSpace(); !this.take(']'); index += 1) {
      if (index > 0) this.expect(',', path);
      this.value(fieldPath(path, index), depth + 1);
      this.skipSpace();
    }
  }

  private string(path: string): string {
    const start = this.at;
    for (this.at += 1; this.text.charCodeAt(this.at) !== quote; this.at += 1) {
      if (this.at >= this.text.length) this.refuse(path, 'is not valid JSON: a string does not end');
      if (this.text.charCodeAt(this.at) === backslash) this.at += 1;
    }
    this.at += 1;
    const content = this.decoded(this.text.slice(start, this.at), path);
    if (content.includes('\0')) this.refuse(path, 'contains the character NUL');
    if (loneSurrogate.test(content)) this.refuse(path, 'contains half of a surrogate pair');
    return content;
  }

  private decoded(token: string, path: string): string {
    try {
      return JSON.parse(token) as string;
    } catch {
      return this.refuse(path, 'is not valid JSON: a string contains a control character or an unknown escape');
    }
  }

  private number(path: string): void {
    const digits = this.match(number);
    if (!digits) this.refuse(path, 'is not valid JSON: a value is expected');
    // Every double beyond this is an integer that stands for several: the sender's number would silently become another.
    if (Math.abs(Number(digits)) > Number.MAX_SAFE_INTEGER) this.refuse(path, 'is a number too large to keep exactly');
  }

  private match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found === undefined) return null;
    this.at += found.length;
    return found;
  }

  private skipSpace(): void {
    this.match(space);
  }

  private take(character: string): boolean {
    const is = this.text[this.at] === character;
    if (is) this.at += 1;
    return is;
  }

  private expect(character: string, path: string): void {
    if (!this.take(character)) this.refuse(path, `is not valid JSON: "${character}" is expected`);
  }

  private refuse(path: string, reason: string): never {
    throw invalidInput(path === '' ? 'body' : path, reason);
  }
}

/** The value of a request body; `undefined` for none. Throws `InvalidInput` that names the field for anything but one well-formed JSON value. */
export function parseStrictJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  let text: string;
  try {
    // The byte order mark stays in the text, where it is no JSON.
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw invalidInput('body', 'is not valid UTF-8');
  }
  if (text.trim() === '') throw invalidInput('body', 'is empty');
  new Scanner(text).document();
  return JSON.parse(text) as unknown;
}
