import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { ForbiddenException, Injectable } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply } from 'fastify';
import { DataSource } from 'typeorm';
import { emptyChain, type ChainHead } from '@domain/audit/verify.js';
import { fail } from '@domain/result.js';
import { LoadIdentityQuery } from '@contexts/sign-in/public/load-identity.query.js';
import { toAuditEntryView } from '@platform/audit/audit-view.js';
import { read } from '@platform/database/transact.js';
import { invalidInput } from '@platform/http/invalid-input.js';
import { pageOf } from '@platform/http/paging.js';
import { respond } from '@platform/http/problem.js';
import { requestFailed } from '@platform/http/problem.filter.js';
import type { Identity } from '@platform/identity/identity.js';
import { readPublicId } from '@platform/ids/typeid.js';
import { ErrorRecords } from '@platform/observability/error-records.js';
import { LongReads } from '../long-reads.js';
import { findPlace, listEntries, readChain, type Chain } from '../queries/entries.js';
import { exportChain, exportPageSize } from '../queries/export-chain.js';
import { verifyChain } from '../queries/verify-chain.js';
import type { AuditPage, AuditQuery, VerificationView, VerifyAuditQuery } from './audit.dto.js';
import { exportAuditProblems, verifyAuditProblems } from './audit.problems.js';

const uuidOf = (id: string | undefined): string | null => (id === undefined ? null : (readPublicId(id)?.uuid ?? null));
const dateOf = (at: number | undefined): Date | null => (at === undefined ? null : new Date(at));

/** Whoever asked may have gone while their rights were looked up. */
function whenOver(answer: ServerResponse, act: () => void): void {
  if (answer.closed || answer.destroyed) act();
  else answer.once('close', act);
}

/** What the routes of both kinds of chains answer. */
@Injectable()
export class AuditAnswers {
  constructor(
    private readonly db: DataSource,
    private readonly queries: QueryBus,
    private readonly records: ErrorRecords,
    private readonly reads: LongReads,
  ) {}

  async list({ context }: Identity, chain: Chain, query: AuditQuery): Promise<AuditPage> {
    const filter = { actions: query.action ?? null, actor: uuidOf(query.actor), target: uuidOf(query.target), from: dateOf(query.from), until: dateOf(query.until) };
    const page = { before: query.before === undefined ? null : Number(query.before), limit: query.limit + 1 };
    const entries = await read(this.db, context, (tx) => listEntries(tx, chain, filter, page));
    return pageOf(entries, query.limit, toAuditEntryView, ({ sequence }) => String(sequence));
  }

  async verify({ context }: Identity, chain: Chain, { length, head }: VerifyAuditQuery, { raw }: FastifyReply): Promise<VerificationView> {
    if ((length === undefined) !== (head === undefined)) throw invalidInput(length === undefined ? 'length' : 'head', 'is required with the other of length and head');
    const known = length === undefined || head === undefined ? null : { length, hash: head };
    const left = new AbortController();
    whenOver(raw, () => left.abort());
    const name = [context.organizationId, chain.projectId, length, head].join();
    const found = await this.reads.share(name, left.signal, (stop) => verifyChain(this.db, this.reads, { context, chain, known }, stop));
    const { checked, firstBroken, unlinked, head: at } = respond(found, verifyAuditProblems);
    return { ok: firstBroken === null, length: at.length, head: at.hash, checked, unlinked, firstBroken };
  }

  /** Everything typed is answered before the first line; a fault after it is the last line, with the fields of RequestFailed in place of the head. */
  async export(identity: Identity, chain: Chain, afterSequence: number, reply: FastifyReply): Promise<void> {
    const from = await this.placeOf(identity, chain, afterSequence);
    whenOver(reply.raw, respond(this.reads.openExport(`${identity.context.organizationId}:${identity.memberId}`), exportAuditProblems));
    const lines = exportChain(identity.context.organizationId, chain.projectId, from, async (after) => {
      if (!(await this.mayStillRead(identity, chain))) throw new ForbiddenException();
      return this.reads.page(() => read(this.db, identity.context, (tx) => readChain(tx, chain, after, exportPageSize)));
    });
    void reply.header('content-type', 'application/x-ndjson; charset=utf-8').header('cache-control', 'no-store');
    await reply.send(Readable.from(this.endTyped(lines, identity), { highWaterMark: 1 }));
  }

  private async *endTyped(lines: AsyncGenerator<string>, { context }: Identity): AsyncGenerator<string> {
    try {
      yield* lines;
    } catch (error) {
      yield `${JSON.stringify(requestFailed(this.records.record(error, context)))}\n`;
    }
  }

  private async placeOf({ context }: Identity, chain: Chain, length: number): Promise<ChainHead> {
    if (length === 0) return emptyChain;
    const { place, head } = await read(this.db, context, async (tx) => ({ place: await findPlace(tx, chain, length), head: (await readChain(tx, chain, length, 1)).head }));
    return place ?? respond(fail({ _tag: 'CursorAhead', sequence: head.length }), exportAuditProblems);
  }

  /** A long export is no way to go on reading with rights that were taken away. */
  private async mayStillRead({ context, tokenId, memberId }: Identity, { projectId }: Chain): Promise<boolean> {
    const identity = await this.queries.execute(new LoadIdentityQuery(context, tokenId));
    return identity?.memberId === memberId && identity.permissions.has(projectId === null ? 'organization.audit' : 'audit.read');
  }
}
