import { createParamDecorator, SetMetadata, type ExecutionContext } from '@nestjs/common';
import type { CredentialKind } from '@domain/access/credentials.js';
import type { PermissionName } from '@domain/access/permissions.js';
import type { Rights } from '@domain/access/rights.js';
import type { OrganizationRole } from '@domain/access/roles.js';
import type { TenantContext } from '@domain/tenancy.js';

/** Who acts, and within what. Never derived from strings, authors or ids: it comes from the credential that the request carried. */
export type Identity = {
  readonly context: TenantContext & { readonly projectId: string };
  readonly memberId: string;
  /** The credential, of whatever kind. */
  readonly tokenId: string;
  readonly credential: CredentialKind;
  /** None is an API key's: it has scopes. */
  readonly role: OrganizationRole | null;
  /** What the credential may do in this project now. */
  readonly permissions: Rights;
  /** When the credential ends by itself; absent: never. */
  readonly expiresAt?: Date;
  /** The network address that the request came from, for the audit log alone. None: no request. */
  readonly address?: string;
};

/** When the credential ends what was begun with it. A session's end is its owner's leaving, and ends no work. */
export const workEndsAt = ({ credential, expiresAt }: Pick<Identity, 'credential' | 'expiresAt'>): Date | null => (credential === 'session' ? null : (expiresAt ?? null));

/** Person and way of signing in: another token of the same person is another author. */
export const authorKey = (identity: Pick<Identity, 'memberId' | 'tokenId'>): string => `${identity.memberId}:${identity.tokenId}`;

export const CurrentIdentity = createParamDecorator((_: unknown, context: ExecutionContext): Identity => context.switchToHttp().getRequest<{ identity: Identity }>().identity);

export const permissionMetadata = 'openbot:permission';
/** The permission that a route needs; `public` needs no credential, and `directory` the token of a directory, which is good for nothing else. Every route names one: an architecture test checks it, and OpenAPI shows it. */
export type Permission = 'public' | 'directory' | PermissionName;
export const Permit = (permission: Permission): MethodDecorator => SetMetadata(permissionMetadata, permission);
