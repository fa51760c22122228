import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { S3Settings } from '@platform/config/config.js';

/** A server that speaks S3 with the bucket of these settings. It goes with the process that started it. */
export async function startS3Server(): Promise<{ readonly settings: S3Settings & { readonly endpoint: string }; close(): Promise<void> }> {
  const child = spawn(process.execPath, [join(__dirname, 's3-server.mjs')], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const [said] = (await Promise.race([once(child.stdout, 'data'), exited.then(() => [''])])) as [Buffer | string];
  const port = Number(String(said));
  if (!port) throw new Error('the S3 server did not start');
  return {
    settings: { bucket: 'objects', region: 'us-east-1', endpoint: `http://127.0.0.1:${port}`, accessKeyId: 'key', secretAccessKey: 'secret' },
    close: async () => {
      child.stdin.end();
      await exited;
    },
  };
}
