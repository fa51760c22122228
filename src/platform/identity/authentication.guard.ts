import { HttpException, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isPermissionName } from '@domain/access/permissions.js';
import { routeClassOf, type RouteClass } from '@domain/access/route-classes.js';
import { Config } from '@platform/config/config.js';
import { invalidInput } from '@platform/http/invalid-input.js';
import { bodyOf } from '@platform/http/transport-problems.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { RequestLimiter } from '@platform/limits/request-limiter.js';
import { routeClassMetadata } from '@platform/limits/route-class.js';
import { Authenticator } from './authenticator.js';
import { DirectoryAuthenticator, type Directory } from './directory.js';
import { isSafe, refuseForgery, refuseOtherOrigins } from './forgery.js';
import { permissionMetadata, type Identity, type Permission } from './identity.js';
import { ownOrigins } from './public-url.js';
import { refuse } from './refuse.js';
import { sessionOf } from './session-cookie.js';

/** Printable characters of a bounded length: what is longer is no token of ours. */
const bearer = /^Bearer +([\x21-\x7e]{1,512}) *$/i;

const unauthenticated = (): HttpException => new HttpException(bodyOf('Unauthenticated'), 401);

/** The project that the path names; a malformed id names none. */
const projectOf = ({ params }: FastifyRequest): string | null => fromPublicId('project', (params as { projectId?: string }).projectId ?? '');

/** Stands before every route. Why a credential does not count is never told: unknown, revoked and expired are one answer. */
@Injectable()
export class AuthenticationGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly authenticator: Authenticator,
    private readonly directories: DirectoryAuthenticator,
    private readonly limiter: RequestLimiter,
    private readonly config: Config,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const permission = this.reflector.getAllAndOverride<Permission | undefined>(permissionMetadata, [context.getHandler(), context.getClass()]);
    if (permission === undefined) throw new Error(`${context.getClass().name}.${context.getHandler().name} names no permission`);
    const request = context.switchToHttp().getRequest<FastifyRequest & { identity?: Identity; directory?: Directory }>();
    // Nobody is signed in by a page of somebody else's either.
    if (permission === 'public') {
      if (!isSafe(request.method)) refuseOtherOrigins(request, ownOrigins(this.config, request));
      return true;
    }
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    if (permission === 'directory') {
      request.directory = await this.identifyDirectory(request, reply);
      return true;
    }
    const identity = await this.identify(request, reply);
    request.identity = { ...identity, address: request.ip };
    const routeClass = this.reflector.get<RouteClass | undefined>(routeClassMetadata, context.getHandler()) ?? routeClassOf(request.method, permission);
    await this.limiter.admit(reply, routeClass, { organizationId: identity.context.organizationId, memberId: identity.memberId });
    // A permission that is in no catalogue is nobody's.
    if (!isPermissionName(permission) || !identity.permissions.has(permission)) await refuse(request, permission);
    return true;
  }

  private async identifyDirectory(request: FastifyRequest, reply: FastifyReply): Promise<Directory> {
    const directory = await this.directories.authenticate(bearer.exec(request.headers.authorization ?? '')?.[1] ?? '');
    if (!directory) {
      await this.limiter.refused(request, reply);
      throw unauthenticated();
    }
    await this.limiter.admit(reply, 'provisioning', { organizationId: directory.context.organizationId, memberId: directory.providerId });
    return directory;
  }

  /** By the token of a program, or the session that a browser sends by itself: which of two was meant is nobody's guess. */
  private async identify(request: FastifyRequest, reply: FastifyReply): Promise<Identity> {
    const [{ authorization }, session] = [request.headers, sessionOf(request)];
    if (authorization !== undefined && session !== null) throw invalidInput('Authorization', 'is sent together with a session: send one of both');
    const credential = session ?? bearer.exec(authorization ?? '')?.[1];
    if (credential === undefined) throw unauthenticated();
    const identity = await this.authenticator.authenticate(credential, projectOf(request));
    // A session outside of its cookie would need no proof that a page of ours sent it.
    if (!identity || (identity.credential === 'session') !== (session !== null)) {
      await this.limiter.refused(request, reply);
      throw unauthenticated();
    }
    if (session !== null && !isSafe(request.method)) refuseForgery(request, session, ownOrigins(this.config, request));
    return identity;
  }
}
