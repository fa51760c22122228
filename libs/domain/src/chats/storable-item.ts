import type { ItemContent } from './items.js';
import { storableText } from './storable-text.js';

/** Nesting beyond this is nobody's honest data, and recursion over it would end in a stack overflow. */
export const maxNesting = 100;

type Branch = readonly unknown[] | Readonly<Record<string, unknown>>;
const isBranch = (value: unknown): value is Branch => typeof value === 'object' && value !== null && (Array.isArray(value) || isPlain(value));
const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/** Whether a JSON value has more than `levels` arrays and objects inside each other. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (!isBranch(value)) return false;
  return levels === 0 || Object.values(value).some((child) => isDeeperThan(child, levels - 1));
}

/** A JSON value with storable strings and keys. What lies deeper than `maxNesting` becomes `null`. */
export function storableValue(value: unknown, levels = maxNesting): unknown {
  if (typeof value === 'string') return storableText(value);
  if (!isBranch(value)) return value;
  if (levels === 0) return null;
  if (Array.isArray(value)) return value.map((child) => storableValue(child, levels - 1));
  // `fromEntries` defines own properties: a key `__proto__` stays a key.
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [storableText(key), storableValue(child, levels - 1)]));
}

/** An item as it may be saved. Everything comes from a model, a tool or a provider, so no string of it is trusted to be storable. */
export const storableItem = <Item extends ItemContent>(item: Item): Item => storableValue(item) as Item;
