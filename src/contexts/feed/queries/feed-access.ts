import { Injectable } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { LoadIdentityQuery } from '@contexts/sign-in/public/load-identity.query.js';
import type { Identity } from '@platform/identity/identity.js';
import { SharedChecks } from '@platform/identity/shared-checks.js';

/** Whether an open stream may go on: its token still counts, may read the feed, and acts in the same project for the same member. */
@Injectable()
export class FeedAccess {
  private readonly checks = new SharedChecks();

  constructor(private readonly queries: QueryBus) {}

  mayStillRead({ context, tokenId, memberId }: Identity): Promise<boolean> {
    return this.checks.check(`${tokenId}:${context.projectId}`, async () => {
      const identity = await this.queries.execute(new LoadIdentityQuery(context, tokenId));
      return identity?.memberId === memberId && identity.context.projectId === context.projectId && identity.permissions.has('feed.read');
    });
  }
}
