import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { TenantContext } from '@domain/tenancy.js';

/** The directory of an identity provider that provisions people. `tokenId`: what it proved itself by. UUIDs. */
export type Directory = { readonly context: TenantContext & { readonly projectId: null }; readonly providerId: string; readonly tokenId: string };

/** Turns the token of a directory into the directory. The provisioning context provides it; `null` is any token that does not count, for whatever reason. */
export abstract class DirectoryAuthenticator {
  abstract authenticate(bearer: string): Promise<Directory | null>;
}

export const CurrentDirectory = createParamDecorator((_: unknown, context: ExecutionContext): Directory => context.switchToHttp().getRequest<{ directory: Directory }>().directory);
