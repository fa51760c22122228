/** The trace that new work belongs to, as a W3C `traceparent`. Asked at each admission, in the caller's own flow of control. */
let read: () => string | null = () => null;

/** Set by the process that traces, once: admissions are plain functions of many features, and none of them should have to carry it. */
export function readTraceBy(reader: () => string | null): void {
  read = reader;
}

export const currentTrace = (): string | null => read();
