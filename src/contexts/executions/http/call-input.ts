import { ValidateBy, type ValidationArguments } from 'class-validator';
import { maxCallNameLength, maxCallNumber, parseCallId, type CallReference } from '@domain/executions/call.js';

export const maxResultBytes = 262_144;

const isNumber = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= maxCallNumber;

/** A call by its id or by its parts: both spellings are the same input. `null`: neither. */
export function toCallReference(value: unknown): CallReference | null {
  if (typeof value === 'string') return parseCallId(value);
  if (value === null || typeof value !== 'object' || Object.keys(value).some((key) => !['step', 'name', 'attempt'].includes(key))) return null;
  const { step, name, attempt } = value as { readonly [K in keyof CallReference]?: unknown };
  const isName = typeof name === 'string' && name.length > 0 && [...name.slice(0, 2 * maxCallNameLength + 1)].length <= maxCallNameLength;
  return isNumber(step) && isName && isNumber(attempt) ? { step, name, attempt } : null;
}

export const IsCallReference = (): PropertyDecorator =>
  ValidateBy({
    name: 'isCallReference',
    validator: {
      validate: (value: unknown) => toCallReference(value) !== null,
      defaultMessage: () => '$property must be the id of a call, or an object of its step, name and attempt',
    },
  });

/** A result belongs to the decision `result` and to no other. */
const fault = (value: unknown, decision: unknown): string | null => {
  if (decision !== 'result') return value === undefined ? null : 'goes with the decision "result" alone';
  if (value === undefined) return 'is needed for the decision "result"';
  return Buffer.byteLength(JSON.stringify(value)) > maxResultBytes ? `must not be larger than ${maxResultBytes} bytes` : null;
};
const decisionOf = (given: ValidationArguments | undefined): unknown => (given?.object as { readonly decision?: unknown } | undefined)?.decision;

export const IsDecidedResult = (): PropertyDecorator =>
  ValidateBy({
    name: 'isDecidedResult',
    validator: {
      validate: (value: unknown, given) => fault(value, decisionOf(given)) === null,
      defaultMessage: (given) => `$property ${fault(given?.value, decisionOf(given)) ?? 'is wrong'}`,
    },
  });
