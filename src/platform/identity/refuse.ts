import { HttpException } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { permissionMissing } from '@platform/http/transport-problems.js';
import { countedAlready } from '@platform/limits/request-limiter.js';
import type { Permission } from './identity.js';

const forbidden = (permission: Permission): HttpException => new HttpException(permissionMissing(permission), 403);

/** The path of what a request is about: up to the last id in it, or null for one without ids. */
export function resourceOf(pattern: string, url: string): string | null {
  const parts = pattern.split('/');
  const last = parts.findLastIndex((part) => part.startsWith(':'));
  if (last < 0) return null;
  return url
    .split('?', 1)[0]!
    .split('/')
    .slice(0, last + 1)
    .join('/');
}

/**
 * What a caller without the permission gets. Where they may know of the resource, because their own read of it is answered, that they may not do this;
 * else they are answered as for a resource that is not there, by the route itself: its ids name nothing from here on, so that it finds nothing and
 * changes nothing. Without an id there is nothing to hide.
 */
export async function refuse(request: FastifyRequest, permission: Permission): Promise<void> {
  const url = request.url;
  const resource = resourceOf(request.routeOptions.url ?? '', url);
  if (resource === null) throw forbidden(permission);
  if (request.method !== 'GET' || resource !== url.split('?', 1)[0]) {
    const { authorization, cookie } = request.headers;
    const headers = { ...(authorization ? { authorization } : {}), ...(cookie ? { cookie } : {}) };
    const read = await countedAlready.run(true, async () => await request.server.inject({ method: 'GET', url: resource, headers }));
    if (read.statusCode === 200) throw forbidden(permission);
  }
  const params = request.params as Record<string, string>;
  for (const name of Object.keys(params)) params[name] = 'none';
}
