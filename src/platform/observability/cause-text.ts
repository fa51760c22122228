import { inspect } from 'node:util';

const maxDepth = 8;
const maxChildren = 8;
const maxTextLength = 16_384;
const maxTotalLength = 65_536;
/** What PostgreSQL, Node.js and HTTP clients add to an error beyond its message. */
const details = ['code', 'errno', 'syscall', 'detail', 'hint', 'schema', 'table', 'column', 'constraint', 'where', 'status', 'statusCode', 'query'] as const;

const clip = (text: string): string => (text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text);

function shape(cause: unknown, depth: number): unknown {
  if (!(cause instanceof Error)) return { value: clip(inspect(cause, { depth: 3, maxArrayLength: 20, maxStringLength: 2_000 })) };
  const known = cause as Error & Partial<Record<(typeof details)[number], unknown>> & { errors?: unknown; driverError?: unknown };
  const found = details.flatMap((name) => (typeof known[name] === 'string' || typeof known[name] === 'number' ? [[name, clip(String(known[name]))]] : []));
  const inner = known.cause ?? known.driverError;
  const goesOn = depth < maxDepth;
  return {
    name: known.name,
    message: clip(known.message),
    ...Object.fromEntries(found),
    stack: clip(known.stack ?? ''),
    ...(goesOn && inner !== undefined ? { cause: shape(inner, depth + 1) } : {}),
    ...(goesOn && Array.isArray(known.errors) ? { errors: known.errors.slice(0, maxChildren).map((error) => shape(error, depth + 1)) } : {}),
  };
}

/** The whole cause as JSON, for the sealed record alone. Bounded in depth and length; never throws, whatever was thrown. */
export function causeText(cause: unknown): string {
  try {
    return JSON.stringify(shape(cause, 0)).slice(0, maxTotalLength);
  } catch (error) {
    return JSON.stringify({ value: 'a cause that cannot be read', reason: String(error) });
  }
}
