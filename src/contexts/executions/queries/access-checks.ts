import { Injectable } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { LoadIdentityQuery } from '@contexts/sign-in/public/load-identity.query.js';
import { read } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { SharedChecks } from '@platform/identity/shared-checks.js';
import { findVisibleExecution } from './visible-execution.js';

/** Whether open streams may go on: their token still counts and may read work, and the execution is still the member's to see. */
@Injectable()
export class AccessChecks {
  private readonly checks = new SharedChecks();

  constructor(
    private readonly db: DataSource,
    private readonly queries: QueryBus,
  ) {}

  mayStillSee(identity: Identity, executionId: string): Promise<boolean> {
    return this.checks.check(`${identity.tokenId}:${identity.context.projectId}:${executionId}`, () => this.ask(identity, executionId));
  }

  private ask({ context, tokenId, memberId }: Identity, executionId: string): Promise<boolean> {
    return read(this.db, context, async (tx) => {
      const identity = await this.queries.execute(new LoadIdentityQuery(context, tokenId, tx));
      return identity?.memberId === memberId && identity.permissions.has('executions.read') && (await findVisibleExecution(tx, identity, executionId)) !== null;
    });
  }
}
