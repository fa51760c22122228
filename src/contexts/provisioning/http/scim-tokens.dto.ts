import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { IsInt, IsOptional, Max, Min, ValidateIf } from 'class-validator';
import { nameLimit } from '@domain/organizations/member.js';
import { longestTokenLife } from '@domain/sign-in/token.js';
import { Characters } from '@platform/http/characters.js';
import { PageOf, PageQuery } from '@platform/http/paging.js';
import { IsPublicId } from '@platform/http/public-id.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { MadeScimToken } from '../commands/create-scim-token.command.js';
import type { ShownScimToken } from '../queries/scim-tokens.js';

export class CreateScimTokenBody {
  @ApiProperty({ example: 'Entra ID', minLength: 1, maxLength: nameLimit })
  @Characters(1, nameLimit)
  name: string;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: longestTokenLife, description: 'Without it, it does not expire.' })
  @ValidateIf((body: CreateScimTokenBody) => body.expiresInMs !== undefined)
  @IsInt()
  @Min(1)
  @Max(longestTokenLife)
  expiresInMs?: number;
}

export class ScimTokenView {
  @ApiProperty({ example: 'scim_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ example: 'Entra ID' }) name: string;
  @ApiProperty({ description: 'How the secret begins, to tell it from others.' }) prefix: string;
  @ApiProperty({ example: 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8', description: 'Who made it. It counts on without them.' }) createdBy: string;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) createdAt: number;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Milliseconds since the epoch. `null`: it does not expire.' }) expiresAt: number | null;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Milliseconds since the epoch, exact to a minute.' }) lastUsedAt: number | null;
}
export const toScimTokenView = (row: ShownScimToken): ScimTokenView => ({
  id: toPublicId('scimToken', row.id),
  name: row.name,
  prefix: row.prefix,
  createdBy: toPublicId('member', row.created_by),
  createdAt: row.created_at.getTime(),
  expiresAt: row.expires_at?.getTime() ?? null,
  lastUsedAt: row.last_used_at?.getTime() ?? null,
});
export class ScimTokenPage extends PageOf(ScimTokenView) {}
export class ScimTokenWithSecretView extends ScimTokenView {
  @ApiProperty({ description: 'The token itself. It is shown this once.' }) token: string;
}
export const toScimTokenWithSecretView = ({ secret, shown }: MadeScimToken): ScimTokenWithSecretView => ({ ...toScimTokenView(shown), token: secret });

export class ScimTokensQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsPublicId('scimToken')
  after?: string;
}
