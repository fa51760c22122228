import { Command } from '@nestjs/cqrs';
import type { DomainNotFound } from '@domain/identity-providers/domain-failures.js';
import type { Result } from '@domain/result.js';

/** The operator's word that a claimed domain is the organization's, where its DNS cannot be asked. */
export class VouchForDomainCommand extends Command<Result<null, DomainNotFound>> {
  constructor(
    readonly organizationId: string,
    readonly domain: string,
  ) {
    super();
  }
}
