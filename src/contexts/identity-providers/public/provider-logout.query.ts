import { Query } from '@nestjs/cqrs';
import type { TenantContext } from '@domain/tenancy.js';

/** Where a browser signs out at whoever vouched for its session; `null`: nowhere. It may ask the provider: never inside a transaction. `returnUrl`: where to come back. */
export class ProviderLogoutQuery extends Query<string | null> {
  constructor(
    readonly context: TenantContext,
    readonly sessionId: string,
    readonly returnUrl: string,
  ) {
    super();
  }
}
