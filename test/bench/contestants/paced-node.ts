import { createNode, type Logins } from './openbot-node.js';
import { PacedSaga, PacedStepHandler } from './paced-work.js';

/** A worker in a process of its own: `node paced-node.js <logins> <name>`. Says `back` when it asks for its name, and `ready` once it has it. */
async function main(logins: Logins, name: string): Promise<void> {
  const node = await createNode(logins, PacedSaga, [PacedStepHandler], name);
  process.send?.('back');
  await node.engine.start();
  process.send?.('ready');
}

process.on('disconnect', () => process.exit(1));
const [, , logins, name] = process.argv;
if (logins && name) void main(JSON.parse(logins) as Logins, name);
