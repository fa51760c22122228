import { take, type Measure } from '../measures.js';
import type { OpenContestant } from './contestant.js';

export type Order = Measure | 'close';

/** The process of one contestant: `node serve.js <its module> <database url>`, then one measure after the other over the parent's channel. */
async function serve(path: string, url: string): Promise<void> {
  const { open } = (await import(path)) as { open: OpenContestant };
  const contestant = await open(url);
  process.on('message', (order: Order) => {
    if (order === 'close') return void contestant.close().then(() => process.exit(0));
    void take(contestant, order).then((measured) => process.send?.(measured));
  });
  // A contestant whose bench was killed ends with it.
  process.on('disconnect', () => process.exit(1));
  process.send?.('ready');
}

const [, , path, url] = process.argv;
if (path && url) void serve(path, url);
