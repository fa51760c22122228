import { get, type IncomingMessage } from 'node:http';

export type Frame = { readonly id: string | null; readonly event: string; readonly data: string };

/** One open stream of server-sent events, as the bytes come. */
export type SseClient = {
  readonly status: number;
  readonly contentType: string;
  readonly frames: Frame[];
  readonly comments: string[];
  /** Resolves when the server has ended the stream or the connection is gone. */
  readonly ended: Promise<void>;
  /** Stops and goes on taking bytes from the socket. */
  pause(): void;
  resume(): void;
  close(): void;
};

function parse(text: string): Frame | null {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const at = line.indexOf(': ');
    fields.set(line.slice(0, at), line.slice(at + 2));
  }
  const [event, data] = [fields.get('event'), fields.get('data')];
  return event === undefined || data === undefined ? null : { id: fields.get('id') ?? null, event, data };
}

/** `token: null`: the headers say who it is. */
export async function openSse(url: string, token: string | null, headers: Record<string, string> = {}): Promise<SseClient> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { agent: false, headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers } }, resolve).on('error', reject);
  });
  const frames: Frame[] = [];
  const comments: string[] = [];
  let rest = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const frame = part.startsWith(':') ? null : parse(part);
      if (frame) frames.push(frame);
      else comments.push(part);
    }
  });
  const ended = new Promise<void>((resolve) => response.once('close', resolve));
  response.on('error', () => undefined);
  return {
    status: response.statusCode ?? 0,
    contentType: response.headers['content-type'] ?? '',
    frames,
    comments,
    ended,
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => response.destroy(),
  };
}
