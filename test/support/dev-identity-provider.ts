import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** The provider of `npm run dev:idp`, in a process of its own: what a newcomer tries signing in with is what the tests hold OpenBot against. */
export type DevIdentityProvider = { readonly issuer: string; readonly clientId: string; readonly clientSecret: string; readonly scopes: readonly string[]; close(): Promise<void> };

export async function startDevIdentityProvider(
  options: { readonly port?: number; readonly backChannelLogoutUri?: string; readonly tokenSeconds?: number } = {},
): Promise<DevIdentityProvider> {
  const { port = 0, backChannelLogoutUri, tokenSeconds = 3_600 } = options;
  const program = spawn(process.execPath, ['test/dev-idp/identity-provider.mjs', '--port', String(port), '--token-seconds', String(tokenSeconds)], {
    env: { ...process.env, ...(backChannelLogoutUri ? { BACK_CHANNEL_LOGOUT_URI: backChannelLogoutUri } : {}) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said = new Map<string, string>();
  for await (const line of createInterface(program.stdout)) {
    const [, name = '', value = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    said.set(name, value);
    if (name === 'scopes') break;
  }
  const scopes = said.get('scopes')?.split(' ');
  if (!scopes) throw new Error('the identity provider did not start');
  const close = async (): Promise<void> => {
    if (program.exitCode !== null || program.signalCode !== null) return;
    program.kill();
    await once(program, 'exit');
  };
  return { issuer: said.get('issuer')!, clientId: said.get('clientId')!, clientSecret: said.get('clientSecret')!, scopes, close };
}
