import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { CameFromQuery } from '../public/came-from.query.js';

@QueryHandler(CameFromQuery)
export class CameFromHandler implements IQueryHandler<CameFromQuery> {
  async execute({ memberId, address, tx }: CameFromQuery): Promise<boolean> {
    const rows = await tx.query<unknown[]>(
      `select 1 from credential where organization_id = tenant_organization() and member_id = $1 and kind = 'session' and address = $2 and created_at > clock_timestamp() - interval '30 days' limit 1`,
      [memberId, address],
    );
    return rows.length > 0;
  }
}
