import { CommandHandler, type ICommandHandler, type QueryBus } from '@nestjs/cqrs';
import { mayHaveWork, rightsOf } from '@domain/access/rights.js';
import { revokeWork } from '@engine/executions.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import { MadeCredentialsQuery } from '@contexts/sign-in/public/made-credentials.query.js';
import { StopWorkCommand, type EndedCredential } from '../public/stop-work.command.js';
import { listProjectIds, listStandings } from '../queries/project-roles.js';

@CommandHandler(StopWorkCommand)
export class StopWorkHandler implements ICommandHandler<StopWorkCommand> {
  async execute({ credentials, tx }: StopWorkCommand): Promise<readonly string[]> {
    return revokeWork(tx, { members: [], ...(await begunWith(tx, credentials)), projects: await listProjectIds(tx) });
  }
}

/** Who acts by these credentials: owners of tokens, and the mirrors of keys. */
async function begunWith(tx: ReadTx, credentials: readonly EndedCredential[]): Promise<{ others: string[]; credentials: string[] }> {
  const ids = credentials.map(({ id }) => id);
  const keys = credentials.filter(({ memberId }) => memberId === null).map(({ id }) => id);
  const mirrors = keys.length === 0 ? [] : await tx.query<{ id: string }[]>(`select id from member where organization_id = tenant_organization() and key_id = any ($1)`, [keys]);
  return { others: [...credentials.flatMap(({ memberId }) => memberId ?? []), ...mirrors.map(({ id }) => id)], credentials: ids };
}

/**
 * Ends what bots do for these members in these projects, and what programs do there by keys and tokens that these members made: those never may more
 * than their makers. Last: it locks heads.
 */
export async function stopWorkIn(tx: Tx, queries: QueryBus, members: readonly string[], projects: readonly string[]): Promise<readonly string[]> {
  if (members.length === 0 || projects.length === 0) return [];
  const made = await queries.execute(new MadeCredentialsQuery(members, tx));
  return revokeWork(tx, { members, ...(await begunWith(tx, made)), projects });
}

/** As `stopWorkIn`, wherever the member may not have bots work any more. */
export async function stopLostWork(tx: Tx, queries: QueryBus, memberId: string, everywhere: boolean): Promise<readonly string[]> {
  const standings = await listStandings(tx, memberId);
  const projects = standings.filter((standing) => everywhere || !mayHaveWork(rightsOf(standing))).map(({ projectId }) => projectId);
  return stopWorkIn(tx, queries, [memberId], projects);
}
