import { appendFile, cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { builtServer } from '@test/support/built-server.js';

export type RaisedBuild = { readonly folder: string; close(): Promise<void> };

/** The program as its next release would be: turns have version 2, and those of version 1 are read and raised. */
export async function raiseTurns(): Promise<RaisedBuild> {
  const built = await builtServer();
  const folder = `${built}-raised-${process.pid}`;
  await cp(built, folder, { recursive: true });
  const sagas = join(folder, 'src', 'contexts', 'chats', 'sagas');
  await appendFile(join(sagas, 'turn-cursor.js'), '\nturnWorkflow.version = 2;\n');
  const raised = `
TurnSaga.prototype.upgrade = (cursor, from) => ({ ...cursor, raisedFrom: from });
Reflect.defineMetadata('openbot:workflow', { ...Reflect.getMetadata('openbot:workflow', TurnSaga), version: 2, reads: [1] }, TurnSaga);
`;
  await appendFile(join(sagas, 'turn.saga.js'), raised);
  return { folder, close: () => rm(folder, { recursive: true, force: true }) };
}
