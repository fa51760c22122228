import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { invalidInput } from './invalid-input.js';

export const idempotencyKeyHeader = 'idempotency-key';
const maxLength = 128;

/** The command's key where the body has none; `null` when the client sent none: sending it again is then another command. */
export const IdempotencyKey = createParamDecorator((_: unknown, context: ExecutionContext): string | null => {
  const { headers } = context.switchToHttp().getRequest<{ headers: Readonly<Record<string, string | string[] | undefined>> }>();
  const key = headers[idempotencyKeyHeader];
  if (key === undefined) return null;
  if (typeof key !== 'string' || key.length === 0 || key.length > maxLength) throw invalidInput('Idempotency-Key', `must be a text of 1 to ${maxLength} characters`);
  return key;
});
