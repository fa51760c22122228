import { ApiExtraModels, ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import { chatKinds, chatModes, type ChatKind, type ChatMode, type ChatStatus, type OpenWork, type ResponseStatus, type TurnStatus } from '@domain/chats/chat.js';
import type { ItemContent } from '@domain/chats/items.js';
import type { ModelSelection } from '@domain/models/catalog.js';
import type { TokenUsage } from '@core/model.js';
import { PageOf, PageQuery } from '@platform/http/paging.js';
import { IsPublicId } from '@platform/http/public-id.js';
import { contents, contentSchema } from './items.dto.js';

const milliseconds = { type: 'integer', description: 'Milliseconds since the epoch.', example: 1792486800000 } as const;
const count = { type: 'integer', minimum: 0 } as const;
const tokens = { type: 'integer', nullable: true, description: '`null`: the provider did not say.' } as const;

export class ChatModelSelectionView implements ModelSelection {
  @ApiProperty({ enum: ['Config.Selection'] }) _tag: 'Config.Selection';
  @ApiProperty({ example: 'development' }) provider: string;
  @ApiProperty({ example: 'mock-text' }) model: string;
  @ApiPropertyOptional({ example: 'low' }) reasoningEffort?: string;
}
export class ChatSettingsView {
  @ApiProperty({ enum: chatModes }) mode: ChatMode;
  @ApiPropertyOptional({ type: ChatModelSelectionView, description: 'Without one the chat uses its bot’s model.' }) model?: ChatModelSelectionView;
}
export class ChatRecordView {
  @ApiProperty({ example: 'chat_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ ...count, description: 'Rises with every change of the chat.' }) revision: number;
  @ApiProperty({ enum: chatKinds }) kind: ChatKind;
  @ApiProperty({ example: 'bot_01k0w3j9v7e8t9q0c5m2x4z6b8' }) bot: string;
  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true, description: 'The chat and the delegation that gave a task chat its work.' }) parent: object | null;
  @ApiProperty() settings: ChatSettingsView;
  @ApiProperty(milliseconds) createdAt: number;
}
export class OpenWorkView implements OpenWork {
  @ApiProperty(count) delegations: number;
  @ApiProperty(count) requests: number;
  @ApiProperty(count) reminders: number;
}

export class TurnStatusView {
  @ApiProperty({ enum: ['Running', 'Completed', 'Failed', 'Interrupted'] }) _tag: TurnStatus;
}
export class TokenUsageView implements TokenUsage {
  @ApiProperty(tokens) inputTokens: number | null;
  @ApiProperty(tokens) outputTokens: number | null;
  @ApiProperty(tokens) cachedInputTokens: number | null;
  @ApiProperty(tokens) cacheWriteTokens: number | null;
  @ApiProperty(tokens) reasoningTokens: number | null;
}
export class TurnView {
  @ApiProperty({ example: 'turn_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty() status: TurnStatusView;
  @ApiProperty() settings: ChatSettingsView;
  @ApiProperty({ example: 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8', description: 'The person for whom the turn works.' }) author: string;
  @ApiProperty({ example: 'exec_01k0w3j9v7e8t9q0c5m2x4z6b8' }) executionId: string;
  @ApiProperty({ ...count, description: 'Finished model steps.' }) steps: number;
  @ApiProperty({ type: TokenUsageView, nullable: true, description: 'What the providers confirmed.' }) usage: TokenUsageView | null;
  @ApiProperty({ type: [String], description: 'The ids of its input items.' }) input: string[];
  @ApiProperty({ type: [String], description: 'The ids of all its items, in order.' }) items: string[];
  @ApiProperty({ ...milliseconds, nullable: true }) startedAt: number | null;
  @ApiProperty({ ...milliseconds, nullable: true }) completedAt: number | null;
}

export class ShortResponseView {
  @ApiProperty({ example: 'turn_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ enum: ['in_progress', 'completed', 'failed', 'cancelled'] }) status: ResponseStatus;
}
export class TurnErrorView {
  @ApiProperty({ example: 'model_unavailable' }) category: string;
  @ApiProperty({ example: 'err_01k0w3j9v7e8t9q0c5m2x4z6b8' }) errorId: string;
}

@ApiExtraModels(...contents)
export class ResponseView extends ShortResponseView {
  @ApiProperty({ type: 'array', items: contentSchema, description: 'What the bot wrote, in order.' }) output: ItemContent[];
  @ApiProperty({ type: TokenUsageView, nullable: true }) usage: TokenUsageView | null;
  @ApiProperty({ type: TurnErrorView, nullable: true }) error: TurnErrorView | null;
}
export class TurnWithResponseView {
  @ApiProperty() turn: TurnView;
  @ApiProperty() response: ResponseView;
}

const statuses = ['Idle', 'Running', 'Completed', 'Failed', 'Interrupted'] as const;
const executionId = { type: String, nullable: true, description: 'The stored work of this turn. The executions API tells its state and its events.' } as const;

export class ChatView {
  @ApiProperty() chat: ChatRecordView;
  @ApiProperty({ enum: statuses, description: '`Idle` before the first turn; then that of the last turn.' }) status: ChatStatus;
  @ApiProperty({ type: TurnView, nullable: true, description: 'The current turn, or the last one.' }) turn: TurnView | null;
  @ApiProperty({ type: ResponseView, nullable: true }) response: ResponseView | null;
  @ApiProperty(executionId) executionId: string | null;
  @ApiProperty({ ...count, description: 'Inputs that wait for a turn.' }) inbox: number;
  @ApiProperty({ description: 'Work that comes back as a notice.' }) open: OpenWorkView;
}
export class ChatSummaryView {
  @ApiProperty() chat: ChatRecordView;
  @ApiProperty({ enum: statuses }) status: ChatStatus;
  @ApiProperty({ type: TurnView, nullable: true }) turn: TurnView | null;
  @ApiProperty({ type: ShortResponseView, nullable: true }) response: ShortResponseView | null;
  @ApiProperty(executionId) executionId: string | null;
}
export class ChatPage extends PageOf(ChatSummaryView) {}
export class TurnPage extends PageOf(TurnView) {}

const cursor = { description: 'The `next` of the page before.' };
export class ChatsQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional({ description: 'Only chats with this bot.' })
  @IsOptional()
  @IsPublicId('bot')
  bot?: string;

  @ApiPropertyOptional({ enum: chatKinds, description: 'Only chats of this kind. Without it: direct, channel and live chats.' })
  @IsOptional()
  @IsIn(chatKinds)
  kind?: ChatKind;

  @ApiPropertyOptional(cursor)
  @IsOptional()
  @IsPublicId('chat')
  after?: string;
}
export class TurnsQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional(cursor)
  @IsOptional()
  @IsPublicId('turn')
  after?: string;
}
