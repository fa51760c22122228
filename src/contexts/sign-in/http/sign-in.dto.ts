import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Max, Min, ValidateIf } from 'class-validator';
import { organizationRoleNames, type OrganizationRole } from '@domain/access/roles.js';
import { nameLimit } from '@domain/organizations/member.js';
import { longestTokenLife } from '@domain/sign-in/token.js';
import { Characters } from '@platform/http/characters.js';
import { PageOf, PageQuery } from '@platform/http/paging.js';
import { IsPublicId } from '@platform/http/public-id.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { IssuedToken } from '../public/issue-token.command.js';
import type { Settings } from '../queries/settings.js';
import type { TokenRow } from '../queries/tokens.js';

export class MeView {
  @ApiProperty({ example: 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ example: 'Ada' }) name: string;
  @ApiProperty({ type: String, nullable: true, example: 'ada@example.com' }) email: string | null;
  @ApiProperty({ enum: organizationRoleNames }) role: OrganizationRole;
  @ApiProperty({ example: 'org_01k0w3j9v7e8t9q0c5m2x4z6b8' }) organization: string;
  @ApiProperty({ example: 'proj_01k0w3j9v7e8t9q0c5m2x4z6b8', description: 'The project that this token acts in.' }) project: string;
  @ApiProperty({ example: 'tok_01k0w3j9v7e8t9q0c5m2x4z6b8', description: 'The token that this request carried.' }) token: string;
}

export class SettingsView {
  @ApiProperty({ type: 'integer', description: 'Send it as `expectedVersion` with a change.' }) version: number;
  @ApiProperty({
    type: String,
    nullable: true,
    example: 'bot_01k0w3j9v7e8t9q0c5m2x4z6b8',
    description: 'The bot to speak with first. `null`: none, or one that you may no longer use.',
  })
  defaultBot: string | null;
}
export const toSettingsView = ({ version, defaultBot }: Settings): SettingsView => ({ version, defaultBot: defaultBot && toPublicId('bot', defaultBot) });

export class ChangeSettingsBody {
  @ApiProperty({ type: 'integer', minimum: 0, example: 0, description: 'The `version` that you read.' })
  @IsInt()
  @Min(0)
  @Max(2_147_483_647)
  expectedVersion: number;

  @ApiPropertyOptional({ type: String, nullable: true, example: 'bot_01k0w3j9v7e8t9q0c5m2x4z6b8', description: 'A bot that you may give work to. `null` takes the default away.' })
  @IsOptional()
  @IsString()
  defaultBot?: string | null;
}

export class TokenView {
  @ApiProperty({ example: 'tok_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ example: 'Laptop' }) name: string;
  @ApiProperty({ description: 'How the token begins, to tell it from others.' }) prefix: string;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) createdAt: number;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Milliseconds since the epoch. `null`: it does not expire.' }) expiresAt: number | null;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Milliseconds since the epoch, exact to a minute.' }) lastUsedAt: number | null;
}
export const toTokenView = ({ id, name, prefix, created_at, expires_at, last_used_at }: TokenRow): TokenView => ({
  id: toPublicId('token', id),
  name,
  prefix,
  createdAt: created_at.getTime(),
  expiresAt: expires_at?.getTime() ?? null,
  lastUsedAt: last_used_at?.getTime() ?? null,
});
export class TokenPage extends PageOf(TokenView) {}

export class CreatedTokenView extends TokenView {
  @ApiProperty({ description: 'The credential itself. It is shown this once.' }) token: string;
}
export const toCreatedTokenView = (name: string, { id, token, prefix, createdAt, expiresAt }: IssuedToken): CreatedTokenView => ({
  ...toTokenView({ id, name, prefix, created_at: createdAt, expires_at: expiresAt, last_used_at: null }),
  token,
});

export class CreateTokenBody {
  @ApiProperty({ example: 'Laptop', minLength: 1, maxLength: nameLimit })
  @Characters(1, nameLimit)
  name: string;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: longestTokenLife, description: 'Without it the token does not expire.' })
  @ValidateIf((body: CreateTokenBody) => body.expiresInMs !== undefined)
  @IsInt()
  @Min(1)
  @Max(longestTokenLife)
  expiresInMs?: number;
}

export class TokensQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsPublicId('token')
  after?: string;
}
