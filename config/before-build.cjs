// What `npm start` asks before it builds: a build replaces dist/, from which a server that runs in this folder still loads.
'use strict';
const { readFileSync } = require('node:fs');
const { resolve } = require('node:path');

const folder = resolve('.openbot');

/** What the last development server of this folder left; it may be gone. */
function lastServer() {
  try {
    return JSON.parse(readFileSync(resolve(folder, 'local.json'), 'utf8'));
  } catch {
    return null;
  }
}

/** Only the server of this folder knows its token: another one may have its port by now. */
async function runs({ url, token }) {
  try {
    const { status } = await fetch(`${url}/v1/me`, { headers: { authorization: `Bearer ${token}` }, signal: AbortSignal.timeout(5_000) });
    return status === 200;
  } catch {
    return false;
  }
}

async function main() {
  const last = lastServer();
  if (!last || !(await runs(last))) return;
  const second = 'to run a second with a DATABASE_URL and a PORT of its own, use "node dist/src/main.js"';
  process.stderr.write(`OpenBot already runs in ${folder} at ${last.url}: use that one, or stop it first; ${second}.\n`);
  process.exitCode = 1;
}

void main();
