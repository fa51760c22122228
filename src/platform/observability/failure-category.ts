import { TimelineChanged } from '@engine/reading/event-pages.js';

/** What a client may branch on: `storage_unavailable` passes by itself and may be tried again. */
export type FailureCategory = 'storage_unavailable' | 'unexpected';

/** Connection trouble, resources, shutdown, timeouts, lost lock races, and a standby in place of the primary: the same request can succeed a moment later. */
const transientState = /^(08|53|57P0)|^(40001|40P01|55P03|57014|25006|25P0[34])$/;
const connectionCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN']);
/** The pool and the driver name these by their text alone. */
const driverTexts =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout|Cannot use a pool after calling end|Client was closed)/;

type Fault = { readonly code?: unknown; readonly message?: unknown; readonly driverError?: unknown; readonly errors?: unknown };

/** Reads the error itself and what the ORM wrapped; never its `cause`: a failed outside call under it says nothing of the database. */
export function categoryOf(cause: unknown): FailureCategory {
  if (cause === null || typeof cause !== 'object') return 'unexpected';
  if (cause instanceof TimelineChanged) return 'storage_unavailable';
  const { code, message, driverError, errors } = cause as Fault;
  if (typeof code === 'string' && (transientState.test(code) || connectionCodes.has(code))) return 'storage_unavailable';
  if (typeof message === 'string' && driverTexts.test(message)) return 'storage_unavailable';
  if (driverError !== undefined && driverError !== cause) return categoryOf(driverError);
  return Array.isArray(errors) && errors.length > 0 ? categoryOf(errors[0]) : 'unexpected';
}
