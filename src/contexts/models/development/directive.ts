/** What a person may ask of a simulated model: a JSON object anywhere in the text, such as `{"calls":[…]}` or `{"delayMs":20,"deltas":100}`. */
export type Directive = {
  readonly calls?: readonly { readonly name: string; readonly arguments: string }[];
  readonly delayMs?: number;
  readonly deltas?: number;
  readonly fail?: string;
  readonly retryAfterMs?: number;
};

const maxStarts = 20;

/** The end of the object that begins at `start`: behind its closing brace, or -1. Braces inside strings do not count. */
function endOfObject(text: string, start: number): number {
  let depth = 0;
  let quoted = false;
  for (let index = start; index < text.length; index += 1) {
    const character = text[index];
    if (quoted) {
      if (character === '\\') index += 1;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === '{') depth += 1;
    else if (character === '}' && (depth -= 1) === 0) return index + 1;
  }
  return -1;
}

/** The first JSON object in a text. It gives up after some braces: prose full of them must not cost a second. */
function objectIn(text: string): Readonly<Record<string, unknown>> | null {
  let start = text.indexOf('{');
  for (let tries = 0; start >= 0 && tries < maxStarts; tries += 1, start = text.indexOf('{', start + 1)) {
    const end = endOfObject(text, start);
    if (end < 0) continue;
    try {
      return JSON.parse(text.slice(start, end)) as Record<string, unknown>;
    } catch {
      continue;
    }
  }
  return null;
}

const bounded = (value: unknown, max: number): number | undefined => (typeof value === 'number' && value >= 0 ? Math.min(Math.floor(value), max) : undefined);

function callsIn(value: unknown): Directive['calls'] {
  if (!Array.isArray(value)) return undefined;
  const calls = value.flatMap((entry: unknown) => {
    const call = (typeof entry === 'object' && entry !== null ? entry : {}) as { name?: unknown; arguments?: unknown };
    if (typeof call.name !== 'string') return [];
    return [{ name: call.name, arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {}) }];
  });
  return calls.length > 0 ? calls : undefined;
}

/** A field that makes no sense is as if it were not there. */
export function directiveIn(text: string): Directive {
  const found = objectIn(text) ?? {};
  const [calls, delayMs, deltas, retryAfterMs] = [
    callsIn(found['calls']),
    bounded(found['delayMs'], 60_000),
    bounded(found['deltas'], 10_000),
    bounded(found['retryAfterMs'], 3_600_000),
  ];
  return {
    ...(calls && { calls }),
    ...(delayMs !== undefined && { delayMs }),
    ...(deltas !== undefined && { deltas }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(typeof found['fail'] === 'string' && { fail: found['fail'] }),
  };
}
