import { AISDKError, APICallError, type SharedV3Headers } from '@ai-sdk/provider';
import { retryAfterMs } from '@domain/models/retry-after.js';
import type { ModelFailure, TokenUsage } from '@core/model.js';
import { AnswerLimitError } from '@platform/egress/answer-limit.js';
import { EgressRefusedError } from '@platform/egress/egress.js';

type Kind = ModelFailure['kind'];

/** What was known when the call broke off. */
export type CallSoFar = { readonly aborted: boolean; readonly answered: boolean; readonly requestId: string | null; readonly usage: TokenUsage | null };

const requestIdHeaders = ['x-request-id', 'request-id'];
export const requestIdOf = (headers: SharedV3Headers | undefined): string | null => requestIdHeaders.map((name) => headers?.[name]).find((id) => id !== undefined) ?? null;

/** No provider has one code for a prompt that does not fit. */
const tooLong =
  /context[_ ]length|context[_ ]window|maximum context|prompt is too long|request_too_large|input is too long|exceed(s|ed)? (the )?(context|maximum.{0,20}tokens)|too many (input )?tokens/i;

function kindOf(status: number, text: string): Kind {
  if (status === 429) return 'limited';
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 408 || status >= 500) return 'unavailable';
  if (status === 413 || ((status === 400 || status === 422) && tooLong.test(text))) return 'too-long';
  return 'rejected';
}

/** Errors that come as an event of a running stream name a type or a code where the others have a status. */
const eventStatuses: readonly (readonly [RegExp, number])[] = [
  [/rate_limit|insufficient_quota/, 429],
  [/authentication/, 401],
  [/permission/, 403],
  [/overloaded/, 529],
  [/not_found/, 404],
  [/invalid|bad_request|context_length|too_large/, 400],
];

type EventError = { readonly statusCode?: unknown; readonly status?: unknown; readonly type?: unknown; readonly code?: unknown; readonly message?: unknown };

function eventStatus(error: EventError): number | null {
  const stated = [error.statusCode, error.status, error.code].map(Number).find((status) => Number.isInteger(status) && status >= 400 && status < 600);
  if (stated !== undefined) return stated;
  const words = [error.type, error.code].filter((word) => typeof word === 'string').join(' ');
  return words === '' ? null : (eventStatuses.find(([pattern]) => pattern.test(words))?.[1] ?? 500);
}

const failure = (kind: Kind, cause: unknown, call: CallSoFar, more: Partial<ModelFailure> = {}): ModelFailure => ({
  type: 'failure',
  kind,
  retryAfterMs: null,
  status: null,
  requestId: call.requestId,
  usage: call.usage,
  cause,
  ...more,
});

function apiFailure(error: APICallError, call: CallSoFar): ModelFailure {
  const status = error.statusCode ?? null;
  const headers = error.responseHeaders ?? {};
  const requestId = requestIdOf(headers) ?? call.requestId;
  // No status: no connection. A good one: the answer's head came, its body did not.
  if (status === null || status < 300) return failure(call.answered ? 'interrupted' : 'unavailable', error, call, { status, requestId });
  return failure(kindOf(status, `${error.message} ${error.responseBody ?? ''}`), error, call, { status, requestId, retryAfterMs: retryAfterMs(headers, Date.now()) });
}

/** Understands whatever a call ended with: what the SDK threw, an error event, a cut connection. */
export function toFailure(error: unknown, call: CallSoFar): ModelFailure {
  if (call.aborted) return failure('interrupted', error, call);
  if (error instanceof EgressRefusedError || error instanceof AnswerLimitError) return failure('rejected', error, call);
  if (APICallError.isInstance(error)) return apiFailure(error, call);
  // Errors of the connection are Errors too; an event's error is a plain object.
  if (error instanceof Error) {
    const beforeSending = !call.answered && AISDKError.isInstance(error);
    return failure(beforeSending ? 'rejected' : call.answered ? 'interrupted' : 'unavailable', error, call);
  }
  const event = typeof error === 'object' && error !== null ? (error as EventError) : {};
  const status = eventStatus(event);
  if (status === null) return failure('interrupted', error, call);
  return failure(kindOf(status, `${JSON.stringify(error)}`), error, call, { status });
}

export const unfinished = (call: CallSoFar): ModelFailure => failure('interrupted', new Error('the stream ended without a finish reason'), call);
