import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Max, Min } from 'class-validator';
import { organizationRoleNames, type OrganizationRole } from '@domain/access/roles.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { Settings } from '../queries/settings.js';

export class MeView {
  @ApiProperty({ example: 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ example: 'Ada' }) name: string;
  @ApiProperty({ type: String, nullable: true, example: 'ada@example.com' }) email: string | null;
  @ApiProperty({ enum: organizationRoleNames, nullable: true, description: '`null`: an API key, which has scopes.' }) role: OrganizationRole | null;
  @ApiProperty({ example: 'org_01k0w3j9v7e8t9q0c5m2x4z6b8' }) organization: string;
  @ApiProperty({ example: 'proj_01k0w3j9v7e8t9q0c5m2x4z6b8', description: 'The project that this request acts in.' }) project: string;
  @ApiProperty({ example: 'tok_01k0w3j9v7e8t9q0c5m2x4z6b8', description: 'The token, API key or session that this request carried.' }) token: string;
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
