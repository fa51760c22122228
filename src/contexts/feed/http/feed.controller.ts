import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation, ApiParam, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import type { ProductEventType } from '@domain/feed/product-events.js';
import { fail, ok } from '@domain/result.js';
import type { ReadTx } from '@engine/tx.js';
import { read } from '@platform/database/transact.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { PublicId } from '@platform/http/public-id.js';
import { encodeFrame, openEventStream, resumeAfter } from '@platform/http/sse.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { CountsAs } from '@platform/limits/route-class.js';
import { ErrorRecords } from '@platform/observability/error-records.js';
import { FeedAccess } from '../queries/feed-access.js';
import { FeedHub, type FeedEntry } from '../queries/feed-hub.js';
import { toProductEventView } from '../queries/product-event.view.js';
import { listProductEvents, readFeedHead, readFeedPosition } from '../queries/product-events.js';
import { FeedEventPage, FeedQuery, maxPosition, ObserveFeedQuery } from './feed.dto.js';
import { readFeedProblems, type ReadFeedFailure } from './feed.problems.js';

@ApiTags('Feed')
@ApiParam({ name: 'projectId' })
@Controller('v1/projects/:projectId/events')
export class FeedController {
  constructor(
    private readonly db: DataSource,
    private readonly hub: FeedHub,
    private readonly access: FeedAccess,
    private readonly records: ErrorRecords,
  ) {}

  @Get()
  @Permit('feed.read')
  @ApiOperation({
    operationId: 'listProjectEvents',
    summary: 'Read what you did in a project in pages',
    description: 'One order for all, oldest first. What comes later never appears before something that you have read.',
  })
  @ApiOkResponse({ type: FeedEventPage })
  @ApiProblems(readFeedProblems)
  async listEvents(
    @CurrentIdentity() identity: Identity,
    @PublicId('projectId', 'project', readFeedProblems, 'ProjectNotFound') projectId: string,
    @Query() { after, limit, type }: FeedQuery,
  ): Promise<FeedEventPage> {
    const rows = await this.readable(identity, projectId, after, (tx) => listProductEvents(tx, identity.memberId, { after, type: type ?? null, limit: limit + 1 }));
    const items = rows.slice(0, limit).map(toProductEventView);
    return { items, next: rows.length > limit ? (items.at(-1)?.position ?? null) : null };
  }

  @Get('observe')
  @Permit('feed.read')
  @CountsAs('stream')
  @ApiOperation({
    operationId: 'observeProjectEvents',
    summary: 'Watch what you do in a project as it happens',
    description:
      'Server-sent events named `feed`; `id` is the position. Reconnect with the last one as `Last-Event-ID`, which goes before `after`: a browser repeats its first URL. ' +
      'An event named `failure` carries the fields of RequestFailed, and the stream closes.',
  })
  @ApiHeader({ name: 'Last-Event-ID', required: false, schema: { type: 'integer', minimum: 0 }, description: 'The last position that you have.' })
  @ApiProduces('text/event-stream')
  @ApiOkResponse({
    description: 'The events after the cursor.',
    schema: {
      type: 'string',
      example:
        'id: 1\nevent: feed\ndata: {"position":1,"at":1767225600000,"type":"bot.created","about":"bot_01k0000000e00800000000000g","sequence":1,"workflow":null,"failure":null}\n\n',
    },
  })
  @ApiProblems(readFeedProblems)
  async observe(
    @CurrentIdentity() identity: Identity,
    @PublicId('projectId', 'project', readFeedProblems, 'ProjectNotFound') projectId: string,
    @Query() { after: afterUrl, type }: ObserveFeedQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const after = resumeAfter(afterUrl, request.headers['last-event-id'], maxPosition);
    const { position, timeline } = await this.readable(identity, projectId, after, readFeedHead);
    const stream = openEventStream(request, reply);
    try {
      const batches = this.hub.observeBatches({
        context: identity.context,
        logId: projectId,
        afterSequence: after,
        head: { sequence: position, ended: false, timeline },
        signal: stream.closed,
        recheck: () => this.access.mayStillRead(identity),
      });
      for await (const batch of batches) {
        const frames = batch.filter((entry) => isFor(entry, identity, type)).map(({ json, sequence }) => encodeFrame('feed', json, sequence));
        if (frames.length > 0) await stream.sendFrames(frames.join(''));
      }
      stream.end();
    } catch (error) {
      stream.fail(this.records.record(error, identity.context));
    }
  }

  /** What `work` reads of the caller's own project; a cursor ahead of its feed names events that a failover lost. */
  private async readable<T>(identity: Identity, projectId: string, after: number, work: (tx: ReadTx) => Promise<T>): Promise<T> {
    if (projectId !== identity.context.projectId) return respond<T, ReadFeedFailure>(fail({ _tag: 'ProjectNotFound' }), readFeedProblems);
    const found = await read(this.db, identity.context, async (tx) => {
      const sequence = await readFeedPosition(tx);
      return after > sequence ? fail({ _tag: 'CursorAhead' as const, sequence }) : ok(await work(tx));
    });
    return respond<T, ReadFeedFailure>(found, readFeedProblems);
  }
}

const isFor = (entry: FeedEntry, { memberId }: Identity, type: ProductEventType | undefined): boolean =>
  entry.memberId === memberId && (type === undefined || entry.view.type === type);
