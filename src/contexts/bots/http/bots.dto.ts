import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsIn, IsInt, IsObject, IsOptional, Max, Min, ValidateIf, ValidateNested } from 'class-validator';
import { botNameLimit, botRights, defaultMaxSteps, instructionsLimit, maxStepsLimit, type BotAction } from '@domain/bots/bot.js';
import type { ModelSelection } from '@domain/models/catalog.js';
import { Characters } from '@platform/http/characters.js';
import { PageOf, PageQuery } from '@platform/http/paging.js';
import { IsPublicId } from '@platform/http/public-id.js';
import { WholeNumber } from '@platform/http/whole-number.js';

const revisionLimit = 2_147_483_647;

/** What the documentation page offers: a whole selection that works on a new server, since not every model takes an effort. */
const modelExample = { provider: 'development', model: 'mock-text' };

export class ModelSelectionBody {
  @ApiPropertyOptional({ enum: ['Config.Selection'] })
  @ValidateIf((body: ModelSelectionBody) => body._tag !== undefined)
  @IsIn(['Config.Selection'])
  _tag?: 'Config.Selection';

  @ApiProperty({ example: 'development', maxLength: 100 })
  @Characters(1, 100)
  provider: string;

  @ApiProperty({ example: 'mock-text', maxLength: 200 })
  @Characters(1, 200)
  model: string;

  @ApiPropertyOptional({ maxLength: 50, description: 'One of the model’s `reasoningEfforts`.' })
  @ValidateIf((body: ModelSelectionBody) => body.reasoningEffort !== undefined)
  @Characters(1, 50)
  reasoningEffort?: string;
}

export class CreateBotBody {
  @ApiProperty({ example: 'Travel planner', minLength: 1, maxLength: botNameLimit })
  @Characters(1, botNameLimit)
  name: string;

  @ApiPropertyOptional({ example: 'You plan journeys. Ask for dates before you suggest anything.', maxLength: instructionsLimit, default: '' })
  @ValidateIf((body: CreateBotBody) => body.instructions !== undefined)
  @Characters(0, instructionsLimit)
  instructions?: string;

  @ApiPropertyOptional({ type: ModelSelectionBody, nullable: true, example: modelExample, description: 'Without one it uses the default of this server, if there is one.' })
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => ModelSelectionBody)
  model?: ModelSelectionBody | null;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: maxStepsLimit, default: defaultMaxSteps, description: 'Model steps of one turn.' })
  @ValidateIf((body: CreateBotBody) => body.maxSteps !== undefined)
  @IsInt()
  @Min(1)
  @Max(maxStepsLimit)
  maxSteps?: number;
}

class Expected {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'The `revision` that you read.' })
  @IsInt()
  @Min(1)
  @Max(revisionLimit)
  expected: number;
}

export class ChangeBotBody extends Expected {
  @ApiPropertyOptional({ minLength: 1, maxLength: botNameLimit })
  @ValidateIf((body: ChangeBotBody) => body.name !== undefined)
  @Characters(1, botNameLimit)
  name?: string;

  @ApiPropertyOptional({ maxLength: instructionsLimit })
  @ValidateIf((body: ChangeBotBody) => body.instructions !== undefined)
  @Characters(0, instructionsLimit)
  instructions?: string;

  @ApiPropertyOptional({ type: ModelSelectionBody, nullable: true, example: modelExample, description: '`null` takes the model away.' })
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => ModelSelectionBody)
  model?: ModelSelectionBody | null;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: maxStepsLimit })
  @ValidateIf((body: ChangeBotBody) => body.maxSteps !== undefined)
  @IsInt()
  @Min(1)
  @Max(maxStepsLimit)
  maxSteps?: number;
}

export class DeleteBotQuery {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'The `revision` that you read.' })
  @WholeNumber()
  @IsInt()
  @Min(1)
  @Max(revisionLimit)
  expected: number;
}

export class BotsQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsPublicId('bot')
  after?: string;
}

export class ModelSelectionView implements ModelSelection {
  @ApiProperty({ enum: ['Config.Selection'] }) _tag: 'Config.Selection';
  @ApiProperty({ example: 'development' }) provider: string;
  @ApiProperty({ example: 'mock-text' }) model: string;
  @ApiPropertyOptional({ example: 'low' }) reasoningEffort?: string;
}

export class BotReceiptView {
  @ApiProperty({ example: 'bot_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ type: 'integer', example: 1 }) revision: number;
}

/** A bot in a list: its instructions may be long, and are read one by one. */
export class ListedBotView extends BotReceiptView {
  @ApiProperty({ example: 'Travel planner' }) name: string;
  @ApiProperty({ example: 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8' }) owner: string;
  @ApiProperty({ type: ModelSelectionView, nullable: true }) model: ModelSelectionView | null;
  @ApiProperty({ type: 'integer', description: 'Model steps of one turn.' }) maxSteps: number;
  @ApiProperty({ enum: [...botRights, 'share'], isArray: true, description: 'What you may do with it.' }) access: BotAction[];
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) createdAt: number;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) updatedAt: number;
}
export class BotPage extends PageOf(ListedBotView) {}

export class BotView extends ListedBotView {
  @ApiProperty({ example: 'You plan journeys. Ask for dates before you suggest anything.' }) instructions: string;
}
