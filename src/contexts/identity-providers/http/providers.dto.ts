import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsBoolean, IsIn, IsInt, IsOptional, Matches, Max, Min, ValidateIf, ValidateNested } from 'class-validator';
import { defaultScopes, grantableRoles, providerKinds, type GrantableRole, type ProviderKind, type ProviderSettings } from '@domain/identity-providers/provider.js';
import { Characters } from '@platform/http/characters.js';
import { PageOf, PageQuery } from '@platform/http/paging.js';
import { IsPublicId } from '@platform/http/public-id.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { ProviderRow } from '../queries/providers.js';
import { callbackUrl } from './sign-in.controller.js';
import { startPath } from './sign-in.dto.js';

const mostGroups = 200;
const mostScopes = 20;
/** RFC 6749, 3.3. */
const scope = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
/** What a header can carry. */
const printable = /^[\x21-\x7e]+$/;

export class GroupRoleBody {
  @ApiProperty({ example: 'openbot-admins', description: 'As the provider names it in its claim; some send ids.', minLength: 1, maxLength: 256 })
  @Characters(1, 256)
  group: string;

  @ApiProperty({ enum: grantableRoles })
  @IsIn(grantableRoles)
  role: GrantableRole;
}

export class CreateIdentityProviderBody {
  @ApiProperty({ example: 'Example Ltd', minLength: 1, maxLength: 100, description: 'What people choose on the sign-in page.' })
  @Characters(1, 100)
  name: string;

  @ApiProperty({ example: 'https://login.example.com', minLength: 1, maxLength: 2048, description: 'The issuer, exactly as the discovery document of the provider names it.' })
  @Characters(1, 2_048)
  issuer: string;

  @ApiProperty({ minLength: 1, maxLength: 500 })
  @Characters(1, 500)
  clientId: string;

  @ApiPropertyOptional({ type: String, nullable: true, maxLength: 1000, writeOnly: true, description: 'Sealed at once and in no answer. A public client has none.' })
  @IsOptional()
  @Characters(1, 1_000)
  @Matches(printable, { message: '$property must be printable ASCII without spaces' })
  clientSecret?: string | null;

  @ApiPropertyOptional({ type: [String], maxItems: mostScopes, default: [...defaultScopes], description: '`offline_access`: the provider is asked again while a session lasts.' })
  @ValidateIf((body: CreateIdentityProviderBody) => body.scopes !== undefined)
  @IsArray()
  @ArrayMaxSize(mostScopes)
  @Characters(1, 200, { each: true })
  @Matches(scope, { each: true, message: 'each scope must be printable ASCII without spaces and quotes' })
  scopes?: string[];

  @ApiPropertyOptional({ default: 'groups', minLength: 1, maxLength: 200, description: 'The claim that lists somebody’s groups.' })
  @ValidateIf((body: CreateIdentityProviderBody) => body.groupsClaim !== undefined)
  @Characters(1, 200)
  groupsClaim?: string;

  @ApiPropertyOptional({ default: true, description: 'Whether somebody with an address of a verified domain becomes a member by signing in. `false`: who was invited alone.' })
  @ValidateIf((body: CreateIdentityProviderBody) => body.admits !== undefined)
  @IsBoolean()
  admits?: boolean;

  @ApiPropertyOptional({ enum: grantableRoles, nullable: true, default: 'member', description: 'What somebody becomes whose groups say nothing. `null`: they do not come in.' })
  @IsOptional()
  @IsIn(grantableRoles)
  defaultRole?: GrantableRole | null;

  @ApiPropertyOptional({
    type: [GroupRoleBody],
    maxItems: mostGroups,
    description: 'With any, everybody but owners is at every sign-in what their groups say, the most of it. Without any, a role is what people make it.',
  })
  @ValidateIf((body: CreateIdentityProviderBody) => body.groupRoles !== undefined)
  @IsArray()
  @ArrayMaxSize(mostGroups)
  @ValidateNested({ each: true })
  @Type(() => GroupRoleBody)
  groupRoles?: GroupRoleBody[];

  @ApiPropertyOptional({ default: true })
  @ValidateIf((body: CreateIdentityProviderBody) => body.enabled !== undefined)
  @IsBoolean()
  enabled?: boolean;
}

/** What was left out is what the document says. */
export const toProviderSettings = (body: CreateIdentityProviderBody): ProviderSettings => ({
  name: body.name,
  enabled: body.enabled ?? true,
  issuer: body.issuer,
  clientId: body.clientId,
  scopes: body.scopes ?? defaultScopes,
  groupsClaim: body.groupsClaim ?? 'groups',
  admits: body.admits ?? true,
  defaultRole: body.defaultRole === undefined ? 'member' : body.defaultRole,
  groupRoles: body.groupRoles ?? [],
});

export class ChangeIdentityProviderBody {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'The revision that you read.' })
  @IsInt()
  @Min(1)
  @Max(2_147_483_647)
  expected: number;

  @ApiPropertyOptional({ minLength: 1, maxLength: 100 })
  @ValidateIf((body: ChangeIdentityProviderBody) => body.name !== undefined)
  @Characters(1, 100)
  name?: string;

  @ApiPropertyOptional({ minLength: 1, maxLength: 2048, description: 'Another issuer needs the secret again: the stored one is not sent to it.' })
  @ValidateIf((body: ChangeIdentityProviderBody) => body.issuer !== undefined)
  @Characters(1, 2_048)
  issuer?: string;

  @ApiPropertyOptional({ minLength: 1, maxLength: 500 })
  @ValidateIf((body: ChangeIdentityProviderBody) => body.clientId !== undefined)
  @Characters(1, 500)
  clientId?: string;

  @ApiPropertyOptional({ type: String, nullable: true, maxLength: 1000, writeOnly: true, description: '`null` forgets it.' })
  @IsOptional()
  @Characters(1, 1_000)
  @Matches(printable, { message: '$property must be printable ASCII without spaces' })
  clientSecret?: string | null;

  @ApiPropertyOptional({ type: [String], maxItems: mostScopes })
  @ValidateIf((body: ChangeIdentityProviderBody) => body.scopes !== undefined)
  @IsArray()
  @ArrayMaxSize(mostScopes)
  @Characters(1, 200, { each: true })
  @Matches(scope, { each: true, message: 'each scope must be printable ASCII without spaces and quotes' })
  scopes?: string[];

  @ApiPropertyOptional({ minLength: 1, maxLength: 200 })
  @ValidateIf((body: ChangeIdentityProviderBody) => body.groupsClaim !== undefined)
  @Characters(1, 200)
  groupsClaim?: string;

  @ApiPropertyOptional()
  @ValidateIf((body: ChangeIdentityProviderBody) => body.admits !== undefined)
  @IsBoolean()
  admits?: boolean;

  @ApiPropertyOptional({ enum: grantableRoles, nullable: true })
  @IsOptional()
  @IsIn(grantableRoles)
  defaultRole?: GrantableRole | null;

  @ApiPropertyOptional({ type: [GroupRoleBody], maxItems: mostGroups })
  @ValidateIf((body: ChangeIdentityProviderBody) => body.groupRoles !== undefined)
  @IsArray()
  @ArrayMaxSize(mostGroups)
  @ValidateNested({ each: true })
  @Type(() => GroupRoleBody)
  groupRoles?: GroupRoleBody[];

  @ApiPropertyOptional({ description: '`false`: nobody signs in by it. Sessions that there are go on.' })
  @ValidateIf((body: ChangeIdentityProviderBody) => body.enabled !== undefined)
  @IsBoolean()
  enabled?: boolean;
}

export class GroupRoleView {
  @ApiProperty() group: string;
  @ApiProperty({ enum: grantableRoles }) role: GrantableRole;
}

export class IdentityProviderView {
  @ApiProperty({ example: 'idp_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ enum: providerKinds }) kind: ProviderKind;
  @ApiProperty() name: string;
  @ApiProperty() enabled: boolean;
  @ApiProperty() issuer: string;
  @ApiProperty() clientId: string;
  @ApiProperty({ description: 'Whether a secret is stored. Nothing else is told of it.' }) hasClientSecret: boolean;
  @ApiProperty({ type: [String] }) scopes: readonly string[];
  @ApiProperty() groupsClaim: string;
  @ApiProperty() admits: boolean;
  @ApiProperty({ enum: grantableRoles, nullable: true }) defaultRole: GrantableRole | null;
  @ApiProperty({ type: [GroupRoleView] }) groupRoles: readonly GroupRoleView[];
  @ApiProperty({ description: 'Register it at the provider as the redirect URI.' }) redirectUri: string;
  @ApiProperty({ description: 'Register it at the provider as the back-channel logout URI.' }) backChannelLogoutUri: string;
  @ApiProperty({ description: 'Register it at the provider as the address after a logout.' }) postLogoutRedirectUri: string;
  @ApiProperty({ description: 'A page may send people here to sign in, with `returnTo`.' }) signInUrl: string;
  @ApiProperty({ type: 'integer' }) revision: number;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) createdAt: number;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) updatedAt: number;
}

export const backChannelPath = (organization: string, provider: string): string => `/auth/oidc/${organization}/${provider}/back-channel-logout`;
export const signedOutPath = '/auth/signed-out';

export function toProviderView(row: ProviderRow, organizationId: string, publicUrl: string): IdentityProviderView {
  const [organization, id] = [toPublicId('organization', organizationId), toPublicId('identityProvider', row.id)];
  return {
    id,
    kind: row.kind,
    name: row.name,
    enabled: row.enabled,
    ...row.settings,
    hasClientSecret: row.has_secret,
    redirectUri: callbackUrl(publicUrl, organization, id),
    backChannelLogoutUri: publicUrl + backChannelPath(organization, id),
    postLogoutRedirectUri: publicUrl + signedOutPath,
    signInUrl: publicUrl + startPath(organization, id),
    revision: row.revision,
    createdAt: row.created_at.getTime(),
    updatedAt: row.updated_at.getTime(),
  };
}

export class IdentityProviderPage extends PageOf(IdentityProviderView) {}

export class IdentityProvidersQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsPublicId('identityProvider')
  after?: string;
}
