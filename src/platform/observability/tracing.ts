import type { EngineObserver } from '@engine/observer.js';

export type TracedRequest = {
  /** Everything that the request does runs in here, so that the work which it admits belongs to its trace. */
  run(work: () => void): void;
  /** `route`: the template, or `null` where no route was found. */
  end(answer: { readonly route: string | null; readonly status: number }): void;
};

/** Spans hold ids, names and numbers: no text, no argument, no header, no address that somebody asked for. */
export interface Tracing {
  readonly engine: EngineObserver;
  request(method: string, traceparent: string | undefined): TracedRequest;
  /** Of what runs now, as W3C `traceparent`. */
  current(): string | null;
  /** Sends what waits, for a moment. */
  close(): Promise<void>;
}
