import type { LocalState } from './local-state.js';

/** Where a process has a private listener, its operator is told where. */
export const readyLine = (line: string, privateUrl: string | null): string => (privateUrl === null ? line : `${line}, and privately at ${privateUrl}`);

/** What a newcomer needs to hold the first conversation. The token is printed in development alone. */
export const welcome = ({ url, token, botId }: LocalState, privateUrl: string | null): string => `
OpenBot is ready.

  API     ${url}/v1
  Docs    ${url}/docs
  Token   ${token}
  State   .openbot/local.json
${privateUrl === null ? '' : `  Private ${privateUrl}\n`}
Say something to your bot:

  curl -sS ${url}/v1/bots/${botId}/messages \\
    -H 'authorization: Bearer ${token}' \\
    -H 'content-type: application/json' \\
    -d '{"commandKey":"'"$(date +%s)"'","input":"Hello"}'

Ctrl-C stops it.
`;
