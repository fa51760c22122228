import type { FastifyRequest } from 'fastify';
import { fail, ok } from '@domain/result.js';
import type { Config } from '@platform/config/config.js';
import { respond, type ProblemTable } from '@platform/http/problem.js';

type Settings = Pick<Config, 'publicUrl' | 'production' | 'port'>;

/** The origin at which browsers reach this server, for links; `null` in production where nobody has said it. */
export const publicUrlOf = ({ publicUrl, production, port }: Settings, localPort = port): string | null => publicUrl ?? (production ? null : `http://localhost:${localPort}`);

/** What this server's own pages send as their origin. Without a setting, development knows both names of this machine. */
export function ownOrigins(config: Settings, request: FastifyRequest): readonly string[] {
  const port = request.socket.localPort ?? config.port;
  const url = publicUrlOf(config, port);
  if (url === null) return [];
  return config.publicUrl === null ? [url, `http://127.0.0.1:${port}`] : [url];
}

/** Nobody can be let in by a page or a link whose address is not known. */
export type PublicUrlMissing = { readonly _tag: 'PublicUrlMissing' };
export const publicUrlProblems = {
  PublicUrlMissing: { status: 503, message: 'The operator has to set OPENBOT_PUBLIC_URL before people can sign in here.' },
} satisfies ProblemTable<PublicUrlMissing>;

/** The origin for a link that is made in answer to a request. Throws `PublicUrlMissing`. */
export function requirePublicUrl(config: Settings, { socket }: FastifyRequest): string {
  const url = publicUrlOf(config, socket.localPort);
  return respond(url === null ? fail({ _tag: 'PublicUrlMissing' as const }) : ok(url), publicUrlProblems);
}

/** What a link carries stands behind the `#`: browsers send it to nobody. */
export const linkOf = (publicUrl: string, page: 'setup' | 'invitation', token: string): string => `${publicUrl}/auth/${page}#token=${token}`;
