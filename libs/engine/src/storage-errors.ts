/** SQLSTATEs after which nobody knows whether the statement took effect, or which pass by themselves; 25006 is a primary that became a standby. */
const passing = /^(08|28|40|53|55|57|25006$|25P03$)/;
const dataErrors = /^(22|23)/;
const socketCodes = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
const socketTexts =
  /Connection terminated|Client has encountered a connection error|connection error and is not queryable|timeout exceeded when trying to connect|^timeout expired$|Query read timeout|Client was closed|Cannot use a pool after/i;

const codeOf = (error: unknown): string => {
  const { code, driverError } = (error ?? {}) as { code?: unknown; driverError?: { code?: unknown } };
  const found = code ?? driverError?.code;
  return typeof found === 'string' ? found : '';
};

/** The database is out of reach, restarting, busy or deadlocked: the same statement may be sent again, and its first sending may have taken effect. */
export function isPassingStorageError(error: unknown): boolean {
  const code = codeOf(error);
  if (code.length === 5 && passing.test(code)) return true;
  if (socketCodes.has(code)) return true;
  return error instanceof Error && socketTexts.test(error.message);
}

/** The server refused the statement itself. Whatever else failed, failed on the way: the statement may have taken effect. */
export const isRefusedStatement = (error: unknown): boolean => /^(?=.*\d)[0-9A-Z]{5}$/.test(codeOf(error)) && !isPassingStorageError(error);

/** The rows themselves were refused (value or constraint): sending again changes nothing. */
export const isDataError = (error: unknown): boolean => dataErrors.test(codeOf(error));
