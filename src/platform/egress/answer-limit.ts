import { TransformStream } from 'node:stream/web';
import { Response } from 'undici';

/** A server that sends more, or for longer, than any answer takes. Asked again it would do the same. */
export class AnswerLimitError extends Error {}

export type AnswerLimits = { readonly maxBytes: number; readonly maxLineBytes: number; readonly maxMs: number };
/** Readers of lines keep a line until it ends. */
const defaults: AnswerLimits = { maxBytes: 64 << 20, maxLineBytes: 8 << 20, maxMs: 30 * 60_000 };

const lineFeed = 0x0a;

/** The same answer with a body that fails where it passes a limit, which closes its connection. Between two pieces the pool's own time limit holds. */
export function limitAnswer(response: Response, { maxBytes, maxLineBytes, maxMs }: AnswerLimits = defaults): Response {
  if (!response.body) return response;
  const began = performance.now();
  let bytes = 0;
  let line = 0;
  const limited = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      bytes += piece.byteLength;
      const end = piece.lastIndexOf(lineFeed);
      line = end < 0 ? line + piece.byteLength : piece.byteLength - end - 1;
      if (bytes > maxBytes) throw new AnswerLimitError(`an answer of more than ${maxBytes} bytes`);
      if (line > maxLineBytes) throw new AnswerLimitError(`a line of more than ${maxLineBytes} bytes`);
      if (performance.now() - began > maxMs) throw new AnswerLimitError(`an answer that takes longer than ${maxMs} ms`);
      controller.enqueue(piece);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(limited), { status, statusText, headers });
}
