import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath, OmitType } from '@nestjs/swagger';
import { Allow, IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { chatKinds, chatModes, type ChatKind, type ChatMode, type ChatStatus, type OpenWork, type ResponseStatus, type TurnStatus } from '@domain/chats/chat.js';
import { noticeKinds, type ItemContent, type ItemOrigin, type NoticeOrigin } from '@domain/chats/items.js';
import { todoLimits, todoStatuses, type Todo } from '@domain/chats/todos.js';
import type { ModelCatalog, ModelEntry, ModelSelection, ProviderEntry } from '@domain/models/catalog.js';
import type { TokenUsage } from '@core/model.js';
import { PageOf, PageQuery } from '@platform/http/paging.js';
import { IsPublicId } from '@platform/http/public-id.js';

const milliseconds = { type: 'integer', description: 'Milliseconds since the epoch.', example: 1792486800000 } as const;
const count = { type: 'integer', minimum: 0 } as const;
const tokens = { type: 'integer', nullable: true, description: '`null`: the provider did not say.' } as const;
const largestRevision = 2_147_483_647;

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

class MessageItem {
  @ApiProperty({ enum: ['message'] }) type: 'message';
  @ApiProperty({ enum: ['user', 'assistant'] }) role: string;
  @ApiProperty({
    type: 'array',
    items: {
      type: 'object',
      required: ['type'],
      properties: { type: { type: 'string', enum: ['input_text', 'input_image', 'input_file', 'output_text'] }, text: { type: 'string' }, file: { type: 'string' } },
    },
  })
  content: object[];
}
class ReasoningItem {
  @ApiProperty({ enum: ['reasoning'] }) type: 'reasoning';
  @ApiProperty({ type: 'array', items: { type: 'object', required: ['type', 'text'], properties: { type: { type: 'string', enum: ['summary_text'] }, text: { type: 'string' } } } })
  summary: object[];
}
class FunctionCallItem {
  @ApiProperty({ enum: ['function_call'] }) type: 'function_call';
  @ApiProperty({ description: 'The model’s own; unique within its step only.' }) callId: string;
  @ApiProperty({ example: 'openbot_todos' }) name: string;
  @ApiProperty({ description: 'JSON, as the model wrote it.' }) arguments: string;
}
class FunctionCallOutputItem {
  @ApiProperty({ enum: ['function_call_output'] }) type: 'function_call_output';
  @ApiProperty() callId: string;
  @ApiProperty({ enum: ['completed', 'failed'] }) status: string;
  @ApiProperty() output: string;
}
const contents = [MessageItem, ReasoningItem, FunctionCallItem, FunctionCallOutputItem];
const contentSchema = { oneOf: contents.map((schema) => ({ $ref: getSchemaPath(schema) })), discriminator: { propertyName: 'type' } };

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

class NoticeView implements NoticeOrigin {
  @ApiProperty({ enum: noticeKinds }) kind: NoticeOrigin['kind'];
  @ApiProperty({ type: String, nullable: true, description: 'What the notice is about.' }) ref: string | null;
}
class ItemOriginView implements ItemOrigin {
  @ApiProperty() chat: string;
  @ApiProperty() turn: string;
  @ApiProperty({ type: 'integer', description: 'The model step that wrote or first read it.' }) step: number;
  @ApiProperty({ type: NoticeView, nullable: true, description: 'Set when OpenBot wrote the input, and no person.' }) notice: NoticeView | null;
}
export class ItemView {
  @ApiProperty({ example: 'item_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ type: 'integer', minimum: 1, description: 'Its place in the chat.' }) seq: number;
  @ApiProperty(contentSchema) content: ItemContent;
  @ApiProperty() origin: ItemOriginView;
}
export class ItemPage extends PageOf(ItemView) {}

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
export class ItemsQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional(cursor)
  @IsOptional()
  @IsPublicId('item')
  before?: string;
}
export class TurnItemsQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional(cursor)
  @IsOptional()
  @IsPublicId('item')
  after?: string;
}

export class TodoView implements Todo {
  @ApiProperty({ example: 'fix', minLength: 1, maxLength: todoLimits.idCharacters }) id: string;
  @ApiProperty({ example: 'Fix the login bug', minLength: 1, maxLength: todoLimits.contentCharacters }) content: string;
  @ApiProperty({ enum: todoStatuses, description: 'Only one entry can be `in_progress`.' }) status: Todo['status'];
}
export class TodosView {
  @ApiProperty({ type: [TodoView] }) items: TodoView[];
}
export class ReplaceTodosBody {
  @ApiProperty({ type: 'integer', minimum: 0, example: 7, description: 'The `chat.revision` that you read.' })
  @IsInt()
  @Min(0)
  @Max(largestRevision)
  revision: number;

  @ApiProperty({ type: [TodoView], maxItems: todoLimits.entries, description: 'The whole new list.' })
  @Allow()
  items: unknown;
}

class ProviderView implements ProviderEntry {
  @ApiProperty({ example: 'development' }) id: string;
  @ApiProperty({ example: 'Development scenarios (simulated)' }) name: string;
}
class ModelView implements ModelEntry {
  @ApiProperty({ enum: ['Config.Model'] }) _tag: 'Config.Model';
  @ApiProperty({ example: 'development' }) provider: string;
  @ApiProperty({ example: 'mock-text' }) id: string;
  @ApiProperty({ example: 'mock-text (simulated)' }) name: string;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Tokens that it reads at once.' }) contextWindow: number | null;
  @ApiProperty({ type: [String] }) reasoningEfforts: string[];
  @ApiProperty({ type: [String] }) serviceTiers: string[];
}
export class ChatModelsView implements ModelCatalog {
  @ApiProperty({ type: ChatModelSelectionView, nullable: true, description: 'What the chat uses now.' }) selected: ChatModelSelectionView | null;
  @ApiProperty({ type: [ProviderView] }) providers: ProviderView[];
  @ApiProperty({ type: [ModelView] }) models: ModelView[];
}
