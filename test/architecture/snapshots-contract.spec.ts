import { openApiDocument } from '@platform/http/openapi.js';
import { openRealApp } from './real-app.js';
import { compareWithStored } from './stored-snapshot.js';

/** By name, so that the order in which modules are joined is no change. */
const byName = <T>(entries: Record<string, T> = {}): Record<string, T> => Object.fromEntries(Object.entries(entries).toSorted(([a], [b]) => (a < b ? -1 : 1)));

test('the HTTP contract is test/contract/openapi.json', async () => {
  const { app, close } = await openRealApp();
  try {
    const document = openApiDocument(app);
    const sorted = { ...document, paths: byName(document.paths), components: { ...document.components, schemas: byName(document.components?.schemas) } };
    await compareWithStored('test/contract/openapi.json', `${JSON.stringify(sorted, null, 2)}\n`);
  } finally {
    await close();
  }
});
