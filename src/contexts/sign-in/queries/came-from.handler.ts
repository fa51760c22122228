import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { sourceOf } from '@platform/limits/source-of.js';
import { CameFromQuery } from '../public/came-from.query.js';

@QueryHandler(CameFromQuery)
export class CameFromHandler implements IQueryHandler<CameFromQuery> {
  async execute({ memberId, address, tx }: CameFromQuery): Promise<boolean> {
    const rows = await tx.query<{ address: string }[]>(
      `select distinct address from credential
       where organization_id = tenant_organization() and member_id = $1 and kind = 'session' and address is not null and created_at > clock_timestamp() - interval '30 days'`,
      [memberId],
    );
    const source = sourceOf(address);
    return rows.some((known) => sourceOf(known.address) === source);
  }
}
