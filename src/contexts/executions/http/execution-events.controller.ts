import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation, ApiParam, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import { hasEnded } from '@domain/executions/state.js';
import { fail, ok } from '@domain/result.js';
import { EventHub, type Observation } from '@engine/reading/event-hub.js';
import { refuseStandby } from '@platform/database/replication.js';
import { read } from '@platform/database/transact.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { PublicId } from '@platform/http/public-id.js';
import { openEventStream, resumeAfter } from '@platform/http/sse.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { CountsAs } from '@platform/limits/route-class.js';
import { ErrorRecords } from '@platform/observability/error-records.js';
import { AccessChecks } from '../queries/access-checks.js';
import { findFollowableExecution, type FollowableRow } from '../queries/visible-execution.js';
import { EventPageView, EventsQuery, ObserveQuery, WaitQuery, WaitView, maxLongPollEvents, maxSequence } from './events.dto.js';
import { framesOf, stateAfter, toEventView } from './event.view.js';
import { readEventsProblems, type ReadEventsFailure } from './executions.problems.js';

/** Pages, long poll and stream are three ways to the same reader, and show the same log. */
@ApiTags('Executions')
@ApiParam({ name: 'executionId' })
@Controller('v1/executions/:executionId')
export class ExecutionEventsController {
  constructor(
    private readonly db: DataSource,
    private readonly hub: EventHub,
    private readonly access: AccessChecks,
    private readonly records: ErrorRecords,
  ) {}

  @Get('events')
  @Permit('executions.read')
  @ApiOperation({ operationId: 'listExecutionEvents', summary: 'Read the events of your work in pages' })
  @ApiOkResponse({ type: EventPageView })
  @ApiProblems(readEventsProblems)
  async listEvents(
    @CurrentIdentity() identity: Identity,
    @PublicId('executionId', 'execution', readEventsProblems, 'ExecutionNotFound') executionId: string,
    @Query() { afterSequence, limit }: EventsQuery,
  ): Promise<EventPageView> {
    const execution = await this.readable(identity, executionId, afterSequence);
    const { events } = await this.hub.readPage({ context: identity.context, logId: executionId, after: afterSequence, limit, timeline: execution.timeline });
    const last = events.at(-1);
    return { items: events.map(toEventView), next: last && last.sequence < execution.sequence ? last.sequence : null };
  }

  @Get('wait')
  @Permit('executions.read')
  @CountsAs('stream')
  @ApiOperation({
    operationId: 'waitForExecutionEvents',
    summary: 'Wait for the next events of your work',
    description: 'Answers at once when there are events after the cursor or the log has ended; else with the first that come, or empty after `timeoutMs`.',
  })
  @ApiOkResponse({ type: WaitView })
  @ApiProblems(readEventsProblems)
  async waitForEvents(
    @CurrentIdentity() identity: Identity,
    @PublicId('executionId', 'execution', readEventsProblems, 'ExecutionNotFound') executionId: string,
    @Query() { afterSequence, timeoutMs }: WaitQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WaitView> {
    const execution = await this.readable(identity, executionId, afterSequence);
    const isOver = execution.ended_at !== null && afterSequence >= execution.sequence;
    const events = isOver ? [] : await this.firstEvents(identity, execution, afterSequence, timeoutMs, reply);
    // Nothing came: what the head says now. Else what the events say, so that the state never runs ahead of a log that is not read to its end.
    const current = events.length > 0 || isOver ? execution : await this.readable(identity, executionId, afterSequence);
    const state = stateAfter(current, events);
    const cursor = events.at(-1)?.sequence ?? afterSequence;
    return { items: events.map(toEventView), next: hasEnded(state) && cursor >= current.sequence ? null : cursor, state };
  }

  @Get('observe')
  @Permit('executions.read')
  @CountsAs('stream')
  @ApiOperation({
    operationId: 'observeExecution',
    summary: 'Watch the events of your work as they come',
    description:
      'Server-sent events named `execution`; `id` is the sequence. Reconnect with the last one as `Last-Event-ID`, which goes before `afterSequence`: a browser repeats its first URL. ' +
      'The stream ends after the event of the end state. Closing it ends nothing but the watching. An event named `failure` carries the fields of RequestFailed, and the stream closes: ' +
      'reconnect in the same way. After a failover of the database that lost events, 409 CursorAhead then names the sequence to read on from.',
  })
  @ApiHeader({ name: 'Last-Event-ID', required: false, schema: { type: 'integer', minimum: 0 }, description: 'The last event that you have.' })
  @ApiProduces('text/event-stream')
  @ApiOkResponse({
    description: 'The events after the cursor.',
    schema: { type: 'string', example: 'id: 1\nevent: execution\ndata: {"sequence":1,"at":1767225600000,"body":{"_tag":"State","state":"queued"}}\n\n' },
  })
  @ApiProblems(readEventsProblems)
  async observe(
    @CurrentIdentity() identity: Identity,
    @PublicId('executionId', 'execution', readEventsProblems, 'ExecutionNotFound') executionId: string,
    @Query() { afterSequence: afterUrl }: ObserveQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const afterSequence = resumeAfter(afterUrl, request.headers['last-event-id'], maxSequence);
    const execution = await this.readable(identity, executionId, afterSequence);
    const stream = openEventStream(request, reply);
    try {
      for await (const batch of this.hub.observeBatches(this.observation(identity, execution, afterSequence, stream.closed))) await stream.sendFrames(framesOf(batch));
      stream.end();
    } catch (error) {
      stream.fail(this.records.record(error, { ...identity.context, executionId }));
    }
  }

  /** The head, read with the reader's rights: a cursor ahead of it names events that a failover lost. */
  private async readable(identity: Identity, executionId: string, afterSequence: number): Promise<FollowableRow> {
    const found = await read(this.db, identity.context, async (tx) => {
      const row = await findFollowableExecution(tx, identity, executionId);
      if (!row || afterSequence > row.sequence) await refuseStandby(tx);
      return row;
    });
    if (!found) return respond<FollowableRow, ReadEventsFailure>(fail({ _tag: 'ExecutionNotFound' }), readEventsProblems);
    const isAhead = afterSequence > found.sequence;
    return respond<FollowableRow, ReadEventsFailure>(isAhead ? fail({ _tag: 'CursorAhead', sequence: found.sequence }) : ok(found), readEventsProblems);
  }

  private observation(identity: Identity, { id, sequence, ended_at, timeline }: FollowableRow, afterSequence: number, signal: AbortSignal): Observation {
    const head = { sequence, ended: ended_at !== null, timeline };
    return { context: identity.context, logId: id, afterSequence, head, signal, recheck: () => this.access.mayStillSee(identity, id) };
  }

  private async firstEvents(identity: Identity, execution: FollowableRow, afterSequence: number, timeoutMs: number, reply: FastifyReply) {
    if (afterSequence < execution.sequence) {
      const { id: logId, timeline } = execution;
      const { events } = await this.hub.readPage({ context: identity.context, logId, after: afterSequence, limit: maxLongPollEvents, timeline });
      return events;
    }
    const over = new AbortController();
    const end = (): void => over.abort();
    const timer = setTimeout(end, timeoutMs);
    reply.raw.once('close', end);
    try {
      for await (const batch of this.hub.observeBatches(this.observation(identity, execution, afterSequence, over.signal))) return batch;
      return [];
    } finally {
      clearTimeout(timer);
      reply.raw.off('close', end);
    }
  }
}
