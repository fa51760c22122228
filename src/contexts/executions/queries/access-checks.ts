import { Injectable } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { LoadIdentityQuery } from '@contexts/sign-in/public/load-identity.query.js';
import { read } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { findVisibleExecution } from './visible-execution.js';

/** Streams that ask within this time share one answer. */
const sharedForMs = 1_000;
/** Thousands of open streams may take longer to be asked for; they never take the pool from requests. */
const maxRunning = 2;

type Check = { readonly askedAt: number; readonly answer: Promise<boolean> };

/** Whether open streams may go on: their token still counts, and the execution is still the member's to see. */
@Injectable()
export class AccessChecks {
  private readonly checks = new Map<string, Check>();
  private readonly queue: (() => void)[] = [];
  private running = 0;

  constructor(
    private readonly db: DataSource,
    private readonly queries: QueryBus,
  ) {}

  mayStillSee(identity: Identity, executionId: string): Promise<boolean> {
    const key = `${identity.tokenId}:${identity.context.projectId}:${executionId}`;
    const known = this.checks.get(key);
    if (known && performance.now() - known.askedAt < sharedForMs) return known.answer;
    const check: Check = { askedAt: performance.now(), answer: this.inTurn(() => this.ask(identity, executionId)) };
    this.checks.set(key, check);
    const forget = (): void => {
      const timer = setTimeout(() => this.checks.get(key) === check && this.checks.delete(key), sharedForMs);
      timer.unref();
    };
    check.answer.then(forget, forget);
    return check.answer;
  }

  private ask({ context, tokenId, memberId }: Identity, executionId: string): Promise<boolean> {
    return read(this.db, context, async (tx) => {
      const identity = await this.queries.execute(new LoadIdentityQuery(context, tokenId, tx));
      return identity?.memberId === memberId && (await findVisibleExecution(tx, identity, executionId)) !== null;
    });
  }

  private async inTurn(ask: () => Promise<boolean>): Promise<boolean> {
    if (this.running >= maxRunning) await new Promise<void>((resolve) => this.queue.push(resolve));
    else this.running += 1;
    try {
      return await ask();
    } finally {
      // The place goes to the next in the queue, or is free.
      const next = this.queue.shift();
      if (next) next();
      else this.running -= 1;
    }
  }
}
