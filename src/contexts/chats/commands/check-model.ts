import type { QueryBus } from '@nestjs/cqrs';
import type { ChatExecutionUnavailable } from '@domain/chats/chat.js';
import type { ChatModelInvalid, ModelSelection } from '@domain/models/catalog.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { TenantContext } from '@domain/tenancy.js';
import { ListModelsQuery } from '@contexts/models/public/list-models.query.js';
import { ResolveModelQuery } from '@contexts/models/public/resolve-model.query.js';

/** Whether a turn with this model could run now. Where there is no model at all, the choice is not at fault. */
export async function checkModel(queries: QueryBus, context: TenantContext, chosen: ModelSelection | null): Promise<Result<null, ChatModelInvalid | ChatExecutionUnavailable>> {
  const resolved = await queries.execute(new ResolveModelQuery(context, chosen));
  if (resolved.ok) return ok(null);
  const catalog = await queries.execute(new ListModelsQuery(context));
  return catalog.models.length === 0 ? fail({ _tag: 'ChatExecutionUnavailable' }) : resolved;
}
