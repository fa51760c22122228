import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsBoolean, IsIn, IsInt, Matches, Max, Min, ValidateIf } from 'class-validator';
import { callDecisions, callStates, maxCallNameLength, maxCallNumber, type CallDecision, type CallReference, type CallState } from '@domain/executions/call.js';
import { executionStates, type ExecutionState } from '@domain/executions/state.js';
import { Characters } from '@platform/http/characters.js';
import { PageOf, PageQuery } from '@platform/http/paging.js';
import { WholeNumber } from '@platform/http/whole-number.js';
import { IsCallReference, IsDecidedResult, maxResultBytes } from './call-input.js';

export class FailureView {
  @ApiProperty({ example: 'crashes' }) category: string;
  @ApiProperty({ type: String, nullable: true, example: 'err_01k0000000e00800000000000g' }) errorId: string | null;
}

export class ExecutionView {
  @ApiProperty({ example: 'exec_01k0000000e00800000000000g' }) id: string;
  @ApiProperty({ example: 'turn' }) workflow: string;
  @ApiProperty({ enum: executionStates }) state: ExecutionState;
  @ApiProperty({ type: 'integer', description: 'How often the work was taken up.' }) generation: number;
  @ApiProperty({ type: 'integer', description: 'The last event of the log.' }) sequence: number;
  @ApiProperty({ type: String, nullable: true, description: 'The chat of a turn.' }) chat: string | null;
  @ApiProperty({ type: String, nullable: true }) turn: string | null;
  @ApiProperty({ type: String, nullable: true, description: 'The execution that this one is a child of.' }) parent: string | null;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch, as all times.' }) createdAt: number;
  @ApiProperty({ type: 'integer', nullable: true }) startedAt: number | null;
  @ApiProperty({ type: 'integer', nullable: true }) endedAt: number | null;
  @ApiProperty({ type: FailureView, nullable: true }) failure: FailureView | null;
}

export class CallUsageView {
  @ApiProperty({ enum: ['confirmed', 'estimated', 'unknown'] }) status: 'confirmed' | 'estimated' | 'unknown';
  @ApiProperty() provider: string;
  @ApiProperty() model: string;
  @ApiProperty({ type: 'integer', nullable: true }) inputTokens: number | null;
  @ApiProperty({ type: 'integer', nullable: true }) outputTokens: number | null;
  @ApiProperty({ type: 'integer', nullable: true }) cachedInputTokens: number | null;
  @ApiProperty({ type: 'integer', nullable: true }) cacheWriteTokens: number | null;
  @ApiProperty({ type: 'integer', nullable: true }) reasoningTokens: number | null;
}

export class CallView {
  @ApiProperty({ example: '2.tool:0.1', description: '`step.name.attempt`' }) id: string;
  @ApiProperty({ type: 'integer' }) step: number;
  @ApiProperty({ example: 'tool:0' }) name: string;
  @ApiProperty({ type: 'integer' }) attempt: number;
  @ApiProperty() kind: string;
  @ApiProperty({ enum: ['repeatable', 'keyed', 'reconcilable', 'unproven'] }) safety: string;
  @ApiProperty({ enum: callStates, description: '`unknown`: the result was lost, and the call may not be repeated without a decision.' }) state: CallState;
  @ApiProperty({ description: 'The result came after its execution had given the call up.' }) late: boolean;
  @ApiProperty({ enum: callDecisions, nullable: true }) decided: CallDecision | null;
  @ApiProperty({ type: FailureView, nullable: true }) failure: FailureView | null;
  @ApiProperty({ type: CallUsageView, nullable: true }) usage: CallUsageView | null;
  @ApiProperty({ type: 'integer' }) createdAt: number;
  @ApiProperty({ type: 'integer', nullable: true }) endedAt: number | null;
}

export class CallPage extends PageOf(CallView) {}

const asBoolean = (text: unknown): unknown => (text === 'true' ? true : text === 'false' ? false : text);

export class CallsQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional({ description: 'The `next` of the page before.', example: '2.tool:0.1', maxLength: 222 })
  @ValidateIf((query: CallsQuery) => query.after !== undefined)
  @Matches(/^\d{1,10}\..{1,200}\.\d{1,10}$/su, { message: '$property must be the id of a call' })
  after?: string;

  @ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: maxCallNumber, description: 'The calls of this step.' })
  @ValidateIf((query: CallsQuery) => query.step !== undefined)
  @WholeNumber()
  @IsInt()
  @Min(0)
  @Max(maxCallNumber)
  step?: number;

  @ApiPropertyOptional({ minLength: 1, maxLength: maxCallNameLength, example: 'tool:0', description: 'The calls of this name.' })
  @ValidateIf((query: CallsQuery) => query.name !== undefined)
  @Characters(1, maxCallNameLength)
  name?: string;

  @ApiPropertyOptional({ type: 'boolean', default: false, description: 'Of each call its latest attempt alone.' })
  @ValidateIf((query: CallsQuery) => query.latest !== undefined)
  @Transform(({ obj }) => asBoolean((obj as { latest: unknown }).latest))
  @IsBoolean()
  latest?: boolean;
}

export class CancelExecutionBody {
  @ApiProperty({ example: 'stop-1', minLength: 1, maxLength: 128, description: 'Names this request. A retry sends the same key.' })
  @Characters(1, 128)
  commandKey: string;
}

export class DecideCallBody {
  @ApiProperty({ example: 'decide-1', minLength: 1, maxLength: 128, description: 'Names this request. A retry sends the same key and input.' })
  @Characters(1, 128)
  commandKey: string;

  @ApiProperty({
    description: 'The id of a call, or its parts.',
    oneOf: [
      { type: 'string', example: '2.tool:0.1' },
      {
        type: 'object',
        required: ['step', 'name', 'attempt'],
        additionalProperties: false,
        properties: {
          step: { type: 'integer', minimum: 0, maximum: maxCallNumber },
          name: { type: 'string', minLength: 1, maxLength: maxCallNameLength },
          attempt: { type: 'integer', minimum: 0, maximum: maxCallNumber },
        },
      },
    ],
    example: '2.tool:0.1',
  })
  @Transform(({ obj }) => (obj as DecideCallBody).call)
  @IsCallReference()
  call: string | CallReference;

  @ApiProperty({ enum: callDecisions, description: '`stop`: the call ends without a result. `retry`: it is sent again. `result`: it ends with the result that you give.' })
  @IsIn(callDecisions)
  decision: CallDecision;

  @ApiPropertyOptional({
    description: `Goes with the decision \`result\` and with no other: any JSON value of up to ${maxResultBytes} bytes.`,
    oneOf: [{ type: 'object', additionalProperties: true }, { type: 'array', items: {} }, { type: 'string' }, { type: 'number' }, { type: 'boolean' }],
    nullable: true,
  })
  // The value as it was sent: a class transformer would rebuild it.
  @Transform(({ obj }) => (obj as DecideCallBody).result)
  @IsDecidedResult()
  result?: unknown;
}

export class ExecutionReceiptView {
  @ApiProperty({ example: 'exec_01k0000000e00800000000000g' }) executionId: string;
  @ApiProperty() commandKey: string;
  @ApiProperty({ type: 'integer', description: 'The last event of the log when the command took effect: observe after it to see what came of it.' }) sequence: number;
}
