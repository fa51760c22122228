import { resolveAliases } from './alias-resolution';

export default async function globalSetup(_: unknown, project: Parameters<typeof resolveAliases>[0]): Promise<void> {
  resolveAliases(project);
  const { startTestServer } = await import('./test-server-run.js');
  await startTestServer();
}
