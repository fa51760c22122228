import type { Model } from '@core/model.js';

const placeholder = '[key]';
/** A word that is shorter stands in ordinary text too, and guards nothing. */
const shortestKey = 8;

/** Errors keep their kind and place; a plain object comes back as a copy. */
function withoutKey(cause: unknown, key: string): unknown {
  const hide = (text: string): string => text.replaceAll(key, placeholder);
  if (typeof cause === 'string') return hide(cause);
  if (!(cause instanceof Error)) return typeof cause === 'object' && cause !== null ? copyOf(cause, hide) : cause;
  const fields = cause as unknown as Record<string, unknown>;
  for (const name of ['message', 'stack', ...Object.keys(cause)]) {
    const value = fields[name];
    if (typeof value === 'string' && value.includes(key)) Object.defineProperty(cause, name, { value: hide(value), configurable: true, writable: true });
  }
  if (cause.cause !== undefined && cause.cause !== cause) cause.cause = withoutKey(cause.cause, key);
  return cause;
}

function copyOf(cause: object, hide: (text: string) => string): unknown {
  try {
    return JSON.parse(hide(JSON.stringify(cause))) as unknown;
  } catch {
    return { unreadable: true };
  }
}

/** Some servers quote the key that they refuse. What is recorded of a failure quotes it to nobody. */
export function quotingNoKey(model: Model, key: string | null): Model {
  if (key === null || key.length < shortestKey) return model;
  return {
    ...model,
    async *stream(request, signal) {
      for await (const part of model.stream(request, signal)) yield part.type === 'failure' ? { ...part, cause: withoutKey(part.cause, key) } : part;
    },
  };
}
