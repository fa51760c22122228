/** What the global set-up hands to every test process. */
export type TestServer = { readonly adminUrl: string; readonly apiUrl: string; readonly workerUrl: string; readonly template: string };

/** The same server and login, another database. */
export function withDatabase(url: string, database: string): string {
  const target = new URL(url);
  target.pathname = `/${database}`;
  return target.toString();
}
