import { createSocket, type Socket } from 'node:dgram';
import { decode, encode } from 'dns-packet';

/** Answers TXT questions out of `records`, by name; `silent`: not at all. */
export class DnsServer {
  readonly records = new Map<string, readonly string[]>();
  silent = false;
  private readonly socket: Socket = createSocket('udp4');

  async start(): Promise<string> {
    this.socket.on('message', (message, from) => {
      if (this.silent) return;
      const { id, questions = [] } = decode(message);
      const name = questions[0]?.name ?? '';
      const texts = this.records.get(name) ?? [];
      const answers = texts.map((text) => ({ type: 'TXT' as const, name, ttl: 0, data: [text.slice(0, 20), text.slice(20)] }));
      // 3: there is no such name.
      this.socket.send(encode({ type: 'response', id: id ?? 0, flags: texts.length === 0 ? 3 : 0, questions, answers }), from.port, from.address);
    });
    await new Promise<void>((done) => this.socket.bind(0, '127.0.0.1', done));
    return `127.0.0.1:${this.socket.address().port}`;
  }

  close(): Promise<void> {
    return new Promise((done) => this.socket.close(() => done()));
  }
}
