import { hasEnded, type ExecutionState } from '@domain/executions/state.js';
import { eventually } from '@test/support/eventually.js';

/* eslint-disable @typescript-eslint/no-explicit-any -- answers of routes are looked at field by field */
export type Receipt = { readonly executionId: string; readonly commandKey: string; readonly sequence: number; readonly chat: string; readonly turn: string };
export type ReadEvent = { readonly sequence: number; readonly body: any };

/** A client of a running server that remembers, byte for byte, all that it was told. */
export type ServerCaller = {
  readonly heard: readonly string[];
  /** Fails when the answer is not one of the 200s. */
  accepted(method: string, path: string, body?: object): Promise<any>;
  send(bot: string, input: string): Promise<Receipt>;
  /** The turn and its response, once its work has ended. */
  endOf(receipt: Receipt): Promise<any>;
  eventsOf(receipt: Receipt): Promise<ReadEvent[]>;
  /** The text of the stream of all events, which ends by itself. */
  observe(receipt: Receipt): Promise<string>;
};

let keys = 0;

export function callerOf(server: { readonly url: string; readonly token: string }): ServerCaller {
  const heard: string[] = [];
  const authorization = `Bearer ${server.token}`;

  async function accepted(method: string, path: string, body?: object): Promise<any> {
    const headers = { authorization, ...(body ? { 'content-type': 'application/json' } : {}) };
    const response = await fetch(server.url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
    // Refuses what is no UTF-8 where `text()` would put another character in its place.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await response.arrayBuffer());
    heard.push(JSON.stringify([...response.headers]), text);
    if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? {} : JSON.parse(text);
  }

  async function endOf({ executionId, chat, turn }: Receipt): Promise<any> {
    await eventually(
      async () => (await accepted('GET', `/v1/executions/${executionId}`)).state as ExecutionState,
      (state) => hasEnded(state),
      60_000,
    );
    return accepted('GET', `/v1/chats/${chat}/turns/${turn}`);
  }

  async function eventsOf({ executionId }: Receipt): Promise<ReadEvent[]> {
    const events: ReadEvent[] = [];
    for (;;) {
      const page = await accepted('GET', `/v1/executions/${executionId}/events?afterSequence=${events.at(-1)?.sequence ?? 0}&limit=100`);
      if (page.items.length === 0) return events;
      events.push(...page.items);
    }
  }

  return {
    heard,
    accepted,
    send: (bot, input) => accepted('POST', `/v1/bots/${bot}/messages`, { input, commandKey: `key-${(keys += 1)}` }) as Promise<Receipt>,
    endOf,
    eventsOf,
    observe: async ({ executionId }) => {
      const response = await fetch(`${server.url}/v1/executions/${executionId}/observe`, { headers: { authorization } });
      const text = new TextDecoder('utf-8', { fatal: true }).decode(await response.arrayBuffer());
      heard.push(text);
      return text;
    },
  };
}

/** The events of a stream, as their data was written. */
export const framesOf = (stream: string): ReadEvent[] =>
  stream
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)) as ReadEvent);
