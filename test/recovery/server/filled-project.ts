import { createHash } from 'node:crypto';
import type { Client } from 'pg';
import { readPurgePlan } from '@contexts/organizations/queries/purge-catalogue.js';

export type Filled = { readonly organizationId: string; readonly projectId: string; readonly memberId: string; readonly botId: string };

const tenant = `f.organization_id, f.project_id`;

/** What conversations leave, by statements over all of them at once. */
const rows = [
  `insert into chat (id, organization_id, project_id, kind, bot_id, owner_id, item_count, turn_count, input_count) select f.chat, ${tenant}, 'task', f.bot_id, f.member_id, 2, 1, 1 from filling f`,
  `insert into execution (id, organization_id, project_id, workflow, workflow_version, subject_id, identity_id, member_id, state, sequence, ended_at)
   select f.execution, ${tenant}, 'turn', 1, f.chat, f.identity, f.member_id, 'completed', 3, clock_timestamp() from filling f`,
  `insert into chat_turn (id, organization_id, project_id, chat_id, number, execution_id, author_member_id, author_token_id, state, settings, item_count, started_at, completed_at)
   select f.turn, ${tenant}, f.chat, 1, f.execution, f.member_id, f.member_id, 'completed', '{}', 2, clock_timestamp(), clock_timestamp() from filling f`,
  `insert into chat_input (id, organization_id, project_id, chat_id, number, turn_id, queue, body, taken_step, taken_at) select gen_random_uuid(), ${tenant}, f.chat, 1, f.turn, false, '\\x00', 1, clock_timestamp() from filling f`,
  `insert into chat_item (chat_id, seq, id, organization_id, project_id, turn_id, step, content) select f.chat, s, gen_random_uuid(), ${tenant}, f.turn, s, decode(repeat('00', 300), 'hex') from filling f, generate_series(1, 2) s`,
  `insert into execution_event (execution_id, sequence, organization_id, project_id, type, body) select f.execution, s, ${tenant}, 'Text', decode(repeat('00', 200), 'hex') from filling f, generate_series(1, 3) s`,
  `insert into execution_call (execution_id, step, name, attempt, organization_id, project_id, generation, kind, safety, provider_key, state) select f.execution, 1, 'model', 1, ${tenant}, 1, 'model', 'repeatable', 'k', 'succeeded' from filling f`,
  `insert into execution_signal (execution_id, name, number, organization_id, project_id, consumed) select f.execution, 'steer', 1, ${tenant}, 1 from filling f`,
  `insert into execution_note (execution_id, hook, at, step, name, attempt, organization_id, project_id, commit_number, body) select f.execution, 'h', 'ended', 1, 'n', 1, ${tenant}, 1, '\\x00' from filling f`,
  `insert into usage_entry (execution_id, step, name, attempt, organization_id, project_id, source, provider, model, status, input_tokens) select f.execution, 1, 'model', 1, ${tenant}, 's', 'p', 'm', 'confirmed', 1 from filling f`,
  `insert into sealed_record (id, organization_id, project_id, kind, body) select f.identity, ${tenant}, 'identity', '\\x00' from filling f`,
  `insert into identity_revocation (organization_id, identity_id) select f.organization_id, f.identity from filling f where f.n % 10 = 0`,
  `insert into error_record (id, organization_id, project_id, execution_id, category, cause) select gen_random_uuid(), ${tenant}, f.execution, 'unexpected', '\\x00' from filling f where f.n % 10 = 0`,
  `insert into permit (execution_id, step, name, attempt, organization_id, generation, limit_name, number, state, timeout_ms, woken) select f.execution, 1, 'model', 1, f.organization_id, 1, 'l', f.n, 'held', 1, true from filling f where f.n % 10 = 0`,
  `insert into token_reservation (execution_id, step, name, attempt, organization_id, bucket, amount, ready_at, used) select f.execution, 1, 'model', 1, f.organization_id, 'b', 1, clock_timestamp(), 1 from filling f where f.n % 10 = 0`,
  `insert into resource_lease (id, organization_id, project_id, kind, resource, execution_id, owner, epoch, generation, state, closed_at) select gen_random_uuid(), ${tenant}, 'computer', f.n::text, f.execution, 'gone', 1, 1, 'closed', clock_timestamp() from filling f where f.n % 10 = 0`,
  `insert into execution_command (scope_id, key_hmac, input_hmac, organization_id, project_id) select f.member_id, sha256(f.chat::text::bytea), '\\x00', ${tenant} from filling f`,
  `insert into feed_position (organization_id, project_id, position) select distinct f.organization_id, f.project_id, 0 from filling f on conflict do nothing`,
  `insert into product_event (organization_id, project_id, position, member_id, type, aggregate_id, aggregate_sequence, data, created_at)
   select ${tenant}, 1000000 + f.n, f.member_id, 'chat.created', f.chat, 1, '{}', clock_timestamp() from filling f`,
];

/** Fills a project that has a bot with so many chats and what goes with each. */
export async function fillProject(outside: Client, { organizationId, projectId, memberId, botId }: Filled, chats: number): Promise<void> {
  await outside.query(
    `create temp table filling as select n, $1::uuid as organization_id, $2::uuid as project_id, $3::uuid as member_id, $4::uuid as bot_id, gen_random_uuid() as chat,
    gen_random_uuid() as turn, gen_random_uuid() as execution, gen_random_uuid() as identity from generate_series(1, ${chats}) n`.replace(
      /\$(\d)/g,
      (_, at: string) => `'${[organizationId, projectId, memberId, botId][Number(at) - 1]}'`,
    ),
  );
  for (const sql of rows) await outside.query(sql);
  await outside.query(`drop table filling`);
  await outside.query(`analyze`);
}

/** How many rows of the project each table has to which the catalogue knows a path. */
export async function countProject(outside: Client, { organizationId, projectId }: Pick<Filled, 'organizationId' | 'projectId'>): Promise<Record<string, number>> {
  const plan = await readPurgePlan({ query: async (sql: string) => (await outside.query(sql)).rows } as unknown as Parameters<typeof readPurgePlan>[0]);
  await outside.query(`select set_config('app.organization', $1, false), set_config('app.project', $2, false)`, [organizationId, projectId]);
  const counts: Record<string, number> = {};
  for (const { table, where } of plan) {
    const { rows: found } = await outside.query<{ n: number }>(`select count(*)::int as n from "${table}" t where t.organization_id = tenant_organization() and (${where})`);
    counts[table] = found[0]!.n;
  }
  return counts;
}

/** One hash over all rows of an organization, or of a project, table by table. */
export async function hashRows(outside: Client, column: 'organization_id' | 'project_id', id: string): Promise<Record<string, string>> {
  const { rows: tables } = await outside.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = $1 and not a.attisdropped where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') order by 1`,
    [column],
  );
  const hashes: Record<string, string> = {};
  for (const { name } of tables) {
    const { rows: found } = await outside.query<{ line: string }>(`select t::text as line from "${name}" t where t.${column} = $1 order by 1`, [id]);
    if (found.length > 0)
      hashes[name] = `${found.length} ${createHash('sha256')
        .update(found.map(({ line }) => line).join('\n'))
        .digest('hex')}`;
  }
  return hashes;
}
