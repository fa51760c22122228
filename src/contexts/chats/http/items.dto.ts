import { ApiProperty, ApiPropertyOptional, getSchemaPath, OmitType } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { noticeKinds, type ItemContent, type ItemOrigin, type NoticeOrigin } from '@domain/chats/items.js';
import { PageOf, PageQuery } from '@platform/http/paging.js';
import { IsPublicId } from '@platform/http/public-id.js';

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
export const contents = [MessageItem, ReasoningItem, FunctionCallItem, FunctionCallOutputItem];
export const contentSchema = { oneOf: contents.map((schema) => ({ $ref: getSchemaPath(schema) })), discriminator: { propertyName: 'type' } };

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

export class ItemsQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsPublicId('item')
  before?: string;
}
export class TurnItemsQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsPublicId('item')
  after?: string;
}
