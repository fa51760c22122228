import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { MadeCredentialsQuery, type MadeCredential } from '../public/made-credentials.query.js';

@QueryHandler(MadeCredentialsQuery)
export class MadeCredentialsHandler implements IQueryHandler<MadeCredentialsQuery> {
  /** Revoked ones too: what a member made ends a moment before its work does where they are removed. */
  execute({ makerIds, tx }: MadeCredentialsQuery): Promise<readonly MadeCredential[]> {
    return tx.query<MadeCredential[]>(
      `select id, member_id as "memberId" from credential
       where organization_id = tenant_organization() and created_by = any ($1) and member_id is distinct from created_by`,
      [makerIds],
    );
  }
}
