import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, ArrayUnique, IsArray, IsIn, IsInt, IsOptional, Max, Min, ValidateIf } from 'class-validator';
import { keyScopes } from '@domain/access/credentials.js';
import { permissionNames, type PermissionName } from '@domain/access/permissions.js';
import type { IdKind } from '@domain/ids.js';
import { nameLimit } from '@domain/organizations/member.js';
import { credentialProjectsLimit, defaultOverlap, longestOverlap, longestTokenLife } from '@domain/sign-in/token.js';
import { Characters } from '@platform/http/characters.js';
import { PageOf, PageQuery } from '@platform/http/paging.js';
import { IsPublicId } from '@platform/http/public-id.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import type { MadeCredential, WantedCredential } from '../commands/store-credential.js';
import type { ShownCredential } from '../queries/credential-lists.js';

const exampleProject = 'proj_01k0w3j9v7e8t9q0c5m2x4z6b8';

/** What is shown of a credential of any kind, but for its id. */
class CredentialView {
  @ApiProperty({ example: 'Laptop' }) name: string;
  @ApiProperty({ description: 'How the secret begins, to tell it from others.' }) prefix: string;
  @ApiProperty({ enum: permissionNames, isArray: true, nullable: true, description: 'What it may do at most. `null`: all that who acts by it may.' })
  scopes: readonly PermissionName[] | null;
  @ApiProperty({ type: [String], nullable: true, example: [exampleProject], description: 'Where it may act. `null`: in every project.' }) projects: string[] | null;
  @ApiProperty({ example: 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8', description: 'Who made it: it never may do more than they may.' }) createdBy: string;
  @ApiProperty({ type: String, nullable: true, description: 'The token that it was made with, and ends with. `null`: it was made in a session, or by the operator.' }) createdWith:
    string | null;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) createdAt: number;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Milliseconds since the epoch. `null`: never.' }) rotatedAt: number | null;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Until when the secret before the last rotation counts. `null`: no such secret counts.' }) previousUntil:
    number | null;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Milliseconds since the epoch. `null`: it does not expire.' }) expiresAt: number | null;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Milliseconds since the epoch, exact to a minute.' }) lastUsedAt: number | null;
}

const viewOf = (row: ShownCredential): CredentialView => ({
  name: row.name,
  prefix: row.prefix,
  scopes: row.scopes,
  projects: row.projects?.map((id) => toPublicId('project', id)) ?? null,
  createdBy: toPublicId('member', row.created_by),
  createdWith: row.made_with && toPublicId('token', row.made_with),
  createdAt: row.created_at.getTime(),
  rotatedAt: row.rotated_at?.getTime() ?? null,
  previousUntil: row.old_until?.getTime() ?? null,
  expiresAt: row.expires_at?.getTime() ?? null,
  lastUsedAt: row.last_used_at?.getTime() ?? null,
});

export class TokenView extends CredentialView {
  @ApiProperty({ example: 'tok_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
}
export const toTokenView = (row: ShownCredential): TokenView => ({ id: toPublicId('token', row.id), ...viewOf(row) });
export class TokenPage extends PageOf(TokenView) {}
export class TokenWithSecretView extends TokenView {
  @ApiProperty({ description: 'The credential itself. It is shown this once.' }) token: string;
}
export const toTokenWithSecretView = ({ secret, shown }: MadeCredential): TokenWithSecretView => ({ ...toTokenView(shown), token: secret });

export class ApiKeyView extends CredentialView {
  @ApiProperty({ example: 'key_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
}
export const toApiKeyView = (row: ShownCredential): ApiKeyView => ({ id: toPublicId('apiKey', row.id), ...viewOf(row) });
export class ApiKeyPage extends PageOf(ApiKeyView) {}
export class ApiKeyWithSecretView extends ApiKeyView {
  @ApiProperty({ description: 'The key itself. It is shown this once.' }) key: string;
}
export const toApiKeyWithSecretView = ({ secret, shown }: MadeCredential): ApiKeyWithSecretView => ({ ...toApiKeyView(shown), key: secret });

class CreateCredentialBody {
  @ApiProperty({ example: 'Laptop', minLength: 1, maxLength: nameLimit })
  @Characters(1, nameLimit)
  name: string;

  @ApiPropertyOptional({ type: [String], minItems: 1, maxItems: credentialProjectsLimit, description: 'The projects that it may act in. Without it: in every one.' })
  @ValidateIf((body: CreateCredentialBody) => body.projects !== undefined)
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(credentialProjectsLimit)
  @ArrayUnique()
  @IsPublicId('project', { each: true })
  projects?: string[];

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: longestTokenLife, description: 'Without it, it does not expire.' })
  @ValidateIf((body: CreateCredentialBody) => body.expiresInMs !== undefined)
  @IsInt()
  @Min(1)
  @Max(longestTokenLife)
  expiresInMs?: number;
}

export class CreateTokenBody extends CreateCredentialBody {
  @ApiPropertyOptional({
    enum: permissionNames,
    isArray: true,
    minItems: 1,
    maxItems: permissionNames.length,
    description: 'What it may do at most. Without it: all that its member may.',
  })
  @ValidateIf((body: CreateTokenBody) => body.scopes !== undefined)
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(permissionNames.length)
  @ArrayUnique()
  @IsIn(permissionNames, { each: true })
  scopes?: PermissionName[];
}

export class CreateApiKeyBody extends CreateCredentialBody {
  @ApiProperty({
    enum: keyScopes,
    isArray: true,
    minItems: 1,
    maxItems: keyScopes.length,
    example: ['bots.read', 'bots.delegate'],
    description: 'What it may do, as far as its maker may.',
  })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(keyScopes.length)
  @ArrayUnique()
  @IsIn(keyScopes, { each: true })
  scopes: PermissionName[];
}

export const toWanted = ({ name, scopes, projects, expiresInMs }: CreateTokenBody): WantedCredential => ({
  name,
  scopes: scopes ?? null,
  projects: projects?.flatMap((id) => fromPublicId('project', id) ?? []) ?? null,
  expiresInMs: expiresInMs ?? null,
});

export class RotateBody {
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: longestOverlap,
    default: defaultOverlap,
    description: 'How long the secret before still counts. One from before that counts no more at once.',
  })
  @ValidateIf((body: RotateBody) => body.overlapMs !== undefined)
  @IsInt()
  @Min(0)
  @Max(longestOverlap)
  overlapMs: number = defaultOverlap;
}

class CredentialsQuery extends OmitType(PageQuery, ['before', 'after'] as const) {}
export class TokensQuery extends CredentialsQuery {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsPublicId('token')
  after?: string;
}
export class ApiKeysQuery extends CredentialsQuery {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsPublicId('apiKey')
  after?: string;
}

/** The page that a query asks for, and one row more. */
export const pageAsked = (kind: IdKind, { after, limit }: TokensQuery | ApiKeysQuery) => ({ after: after === undefined ? null : fromPublicId(kind, after), limit: limit + 1 });
