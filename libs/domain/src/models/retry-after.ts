const milliseconds = (text: string | undefined, unit: number): number | null => {
  if (text === undefined || !/^\s*\d+(\.\d+)?\s*$/.test(text)) return null;
  return Math.ceil(Number(text) * unit);
};

/**
 * How long a provider asks to be left alone, from lower-case headers: `retry-after-ms`, or `retry-after` as seconds or as a date.
 * `null`: it does not say. `now` in milliseconds since the epoch.
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, now: number): number | null {
  const exact = milliseconds(headers['retry-after-ms'], 1);
  if (exact !== null) return exact;
  const header = headers['retry-after'];
  const seconds = milliseconds(header, 1000);
  if (seconds !== null) return seconds;
  const at = header === undefined || !/[a-z]/i.test(header) ? NaN : Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
