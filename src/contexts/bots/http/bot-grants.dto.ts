import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { ArrayMaxSize, ArrayMinSize, ArrayUnique, IsArray, IsIn, IsInt, IsString, Max, Min, ValidateNested } from 'class-validator';
import { botRights, grantsLimit, type BotRight } from '@domain/bots/bot.js';

export class GrantBody {
  @ApiProperty({ example: 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8' })
  @IsString()
  member: string;

  @ApiProperty({ enum: botRights, isArray: true, description: 'Any of them implies `read`.' })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(botRights.length)
  @ArrayUnique()
  @IsIn(botRights, { each: true })
  rights: BotRight[];
}

export class SetGrantsBody {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'The `revision` of the bot that you read.' })
  @IsInt()
  @Min(1)
  @Max(2_147_483_647)
  expected: number;

  @ApiProperty({ type: [GrantBody], maxItems: grantsLimit, description: 'All grants of the bot: who is not here has none.' })
  @IsArray()
  @ArrayMaxSize(grantsLimit)
  @ValidateNested({ each: true })
  @Type(() => GrantBody)
  grants: GrantBody[];
}

export class GrantView {
  @ApiProperty({ example: 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8' }) member: string;
  @ApiProperty({ enum: botRights, isArray: true }) rights: BotRight[];
}

export class GrantsView {
  @ApiProperty({ type: 'integer', description: 'The revision of the bot.' }) revision: number;
  @ApiProperty({ type: [GrantView] }) grants: GrantView[];
}
