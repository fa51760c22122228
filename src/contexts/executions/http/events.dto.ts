import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, Max, Min } from 'class-validator';
import type { ExecutionEventBody } from '@domain/executions/events.js';
import { executionStates, type ExecutionState } from '@domain/executions/state.js';
import { defaultLimit, maxLimit } from '@platform/http/paging.js';
import { WholeNumber } from '@platform/http/whole-number.js';

export const maxSequence = 2_147_483_647;
export const maxWaitMs = 60_000;
const defaultWaitMs = 30_000;
/** A long poll answers with as much as a stream sends at a time. */
export const maxLongPollEvents = maxLimit;

export class ObserveQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: maxSequence, default: 0, description: 'The last event that you have: reading goes on behind it.' })
  @WholeNumber()
  @IsInt()
  @Min(0)
  @Max(maxSequence)
  afterSequence: number = 0;
}

export class EventsQuery extends ObserveQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: maxLimit, default: defaultLimit })
  @WholeNumber()
  @IsInt()
  @Min(1)
  @Max(maxLimit)
  limit: number = defaultLimit;
}

export class WaitQuery extends ObserveQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: maxWaitMs, default: defaultWaitMs, description: 'How long to wait for the next event.' })
  @WholeNumber()
  @IsInt()
  @Min(0)
  @Max(maxWaitMs)
  timeoutMs: number = defaultWaitMs;
}

export class EventView {
  @ApiProperty({ type: 'integer', description: 'Its place in the log: 1, 2, 3, without a gap.' }) sequence: number;
  @ApiProperty({ type: 'integer' }) at: number;
  @ApiProperty({
    type: 'object',
    required: ['_tag'],
    properties: {
      _tag: {
        type: 'string',
        enum: [
          'State',
          'Input',
          'InputMoved',
          'ModelAttempt',
          'Text',
          'Reasoning',
          'ToolCall',
          'ToolResult',
          'Item',
          'Usage',
          'Result',
          'Failure',
        ] satisfies ExecutionEventBody['_tag'][],
      },
    },
    additionalProperties: true,
    example: { _tag: 'Text', step: 1, attempt: 1, delta: 'Hello' },
  })
  body: ExecutionEventBody;
}

export class EventPageView {
  @ApiProperty({ type: [EventView] }) items: EventView[];
  @ApiProperty({ type: 'integer', nullable: true, description: 'Send it as `afterSequence` to get what is stored behind this page. `null`: these were all.' }) next: number | null;
}

export class WaitView {
  @ApiProperty({ type: [EventView], description: 'Empty when nothing came in time.' }) items: EventView[];
  @ApiProperty({ type: 'integer', nullable: true, description: 'Send it as the next `afterSequence`. `null`: the log has ended.' }) next: number | null;
  @ApiProperty({ enum: executionStates }) state: ExecutionState;
}
