import type { MigrationInterface, QueryRunner } from 'typeorm';
import { protectTable } from './protect-table.js';

/**
 * A conversation. Its row lock orders everything that happens in it; steps change counters only, so no counter is indexed and pages keep room.
 * `running_turn_id` is the one turn that advances. Only that turn writes items, so that a step knows the places of its items before its commit.
 */
const chat = [
  `create table chat (
    id uuid constraint chat_is_named_by_id primary key,
    organization_id uuid not null,
    project_id uuid not null,
    kind text not null constraint chat_kind_is_known check (kind in ('direct', 'channel', 'task', 'review', 'live')),
    bot_id uuid not null,
    owner_id uuid not null,
    revision integer not null default 0,
    item_count integer not null default 0,
    input_count integer not null default 0,
    turn_count integer not null default 0,
    running_turn_id uuid,
    mode text not null default 'build' constraint chat_mode_is_known check (mode in ('build', 'plan')),
    model jsonb,
    todos bytea,
    todos_open integer not null default 0,
    todos_version integer not null default 0,
    created_at timestamptz not null default clock_timestamp(),
    deleted_at timestamptz,
    constraint chat_belongs_to_tenant unique (organization_id, project_id, id),
    constraint chat_is_with_bot foreign key (organization_id, project_id, bot_id) references bot,
    constraint chat_has_owner foreign key (organization_id, owner_id) references member,
    constraint chat_open_todos_are_listed check (todos_open = 0 or todos is not null),
    constraint chat_deleted_is_still check (deleted_at is null or running_turn_id is null)
  ) with (fillfactor = 70)`,
  `create unique index chat_direct_is_one_each on chat (organization_id, project_id, bot_id, owner_id) where kind = 'direct' and deleted_at is null`,
  `create index chat_is_listed_by_age on chat (organization_id, project_id, owner_id, created_at, id) where deleted_at is null`,
  ...protectTable('chat', 'project'),
  // The engine locks chats of several tenants in one order; it reads and writes nothing else of them.
  `create policy chat_engine on chat to openbot_engine using (true) with check (true)`,
  `grant select, update on chat to openbot_engine`,
];

/**
 * A pass of the bot. `number` is its place among the shown turns and comes when it starts to advance, because turns wait in another order than
 * they run. Its items are `item_count` places from `first_seq` on.
 */
const turn = [
  `create table chat_turn (
    id uuid constraint chat_turn_is_named_by_id primary key,
    organization_id uuid not null,
    project_id uuid not null,
    chat_id uuid not null,
    number integer,
    execution_id uuid not null,
    author_member_id uuid not null,
    author_token_id uuid not null,
    state text not null default 'queued' constraint chat_turn_state_is_known check (state in ('queued', 'running', 'completed', 'failed', 'interrupted')),
    settings jsonb not null,
    steps integer not null default 0,
    usage jsonb,
    first_seq integer not null default 0,
    item_count integer not null default 0,
    interrupt_ids uuid[] not null default '{}',
    failure_category text,
    error_id uuid,
    created_at timestamptz not null default clock_timestamp(),
    started_at timestamptz,
    completed_at timestamptz,
    constraint chat_turn_belongs_to_chat foreign key (organization_id, project_id, chat_id) references chat (organization_id, project_id, id),
    constraint chat_turn_that_ran_is_numbered check (state = 'queued' or number is not null),
    constraint chat_turn_end_is_marked check ((completed_at is not null) = (state in ('completed', 'failed', 'interrupted'))),
    constraint chat_turn_failure_is_whole check ((failure_category is null) = (error_id is null))
  ) with (fillfactor = 70)`,
  `create unique index chat_turn_is_numbered on chat_turn (chat_id, number) where number is not null`,
  `create index chat_turn_waits on chat_turn (chat_id) where state = 'queued'`,
  ...protectTable('chat_turn', 'project'),
];

/** What came into the inbox, in one order per chat. Its author is its turn's. `taken_at` without items: the turn ended before its place came. */
const input = [
  `create table chat_input (
    id uuid constraint chat_input_is_named_by_id primary key,
    organization_id uuid not null,
    project_id uuid not null,
    chat_id uuid not null,
    number integer not null,
    turn_id uuid not null,
    queue boolean not null,
    body bytea not null,
    taken_step integer,
    taken_at timestamptz,
    created_at timestamptz not null default clock_timestamp(),
    constraint chat_input_is_numbered unique (chat_id, number),
    constraint chat_input_belongs_to_chat foreign key (organization_id, project_id, chat_id) references chat (organization_id, project_id, id),
    constraint chat_input_step_is_taken check (taken_step is null or taken_at is not null)
  )`,
  `create index chat_input_waits on chat_input (turn_id, number) where taken_at is null`,
  ...protectTable('chat_input', 'project'),
];

const item = [
  `create table chat_item (
    chat_id uuid not null,
    seq integer not null,
    id uuid not null constraint chat_item_is_named_by_id unique,
    organization_id uuid not null,
    project_id uuid not null,
    turn_id uuid not null,
    step integer not null,
    input_id uuid,
    content bytea not null,
    notice_kind text,
    notice_ref text,
    created_at timestamptz not null default clock_timestamp(),
    constraint chat_item_has_place primary key (chat_id, seq),
    constraint chat_item_belongs_to_chat foreign key (organization_id, project_id, chat_id) references chat (organization_id, project_id, id),
    constraint chat_item_ref_is_of_notice check (notice_ref is null or notice_kind is not null)
  )`,
  ...protectTable('chat_item', 'project'),
];

const lockChats = `
create function feature_lock_chat(p_ids uuid[], p_skip boolean) returns uuid[] language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare got uuid[];
begin
  if p_skip then
    select coalesce(array_agg(l.id), '{}') into got from (select x.id from chat x where x.id = any (p_ids) order by x.id for no key update skip locked) l;
  else
    select coalesce(array_agg(l.id), '{}') into got from (select x.id from chat x where x.id = any (p_ids) order by x.id for no key update) l;
  end if;
  return got;
end $$`;

/**
 * The rows of one commit of a turn; the chat is locked. Tenant columns come from the head. A turn that does not advance, or that counts the items
 * otherwise than the chat does, would write over another's places: its commit is refused as bad data.
 */
const writeRows = `
create function feature_rows_chat(h execution, p_aggregate uuid, p_rows jsonb) returns void language plpgsql as $$
declare c chat; added int := jsonb_array_length(coalesce(p_rows->'items', '[]')); turn uuid := (p_rows->>'turn')::uuid;
begin
  select * into c from chat x where x.id = p_aggregate;
  if c.id is null or h.subject_id is distinct from c.id then raise exception 'a turn of another chat' using errcode = 'integrity_constraint_violation'; end if;
  if c.running_turn_id is distinct from turn then raise exception 'a turn that does not advance' using errcode = 'integrity_constraint_violation'; end if;
  if added > 0 and c.item_count <> (p_rows->>'itemCount')::int then raise exception 'items after place %, not %', c.item_count, p_rows->>'itemCount' using errcode = 'integrity_constraint_violation'; end if;

  insert into chat_item (organization_id, project_id, chat_id, seq, id, turn_id, step, input_id, content, notice_kind, notice_ref)
    select h.organization_id, h.project_id, c.id, c.item_count + e.ord, (e.v->>'id')::uuid, turn, (e.v->>'step')::int, (e.v->>'input')::uuid, decode(e.v->>'content', 'base64'), e.v->>'notice', e.v->>'ref'
    from jsonb_array_elements(coalesce(p_rows->'items', '[]')) with ordinality e(v, ord);
  if p_rows ? 'inputs' then
    update chat_input i set taken_at = clock_timestamp(), taken_step = (p_rows->>'step')::int where i.turn_id = turn and i.taken_at is null and i.id in (select v::uuid from jsonb_array_elements_text(p_rows->'inputs') v);
  end if;
  update chat_turn t set steps = (p_rows->>'steps')::int, usage = nullif(p_rows->'usage', 'null'), item_count = t.item_count + added, first_seq = case when t.item_count = 0 then c.item_count + 1 else t.first_seq end,
    state = case when t.state = 'queued' then 'running' else t.state end, started_at = coalesce(t.started_at, clock_timestamp()) where t.id = turn;
  update chat x set revision = x.revision + 1, item_count = x.item_count + added,
    todos = case when p_rows ? 'todos' then decode(p_rows->'todos'->>'body', 'base64') else x.todos end,
    todos_open = case when p_rows ? 'todos' then (p_rows->'todos'->>'open')::int else x.todos_open end,
    todos_version = x.todos_version + (p_rows ? 'todos')::int where x.id = c.id;
end $$`;

/** A turn that waits for its place is let go by the end of the turn that advances. */
const turnWaker = `
create function feature_waker_turn(p_ids uuid[]) returns uuid[] language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select array(select x.id from execution x join chat c on c.id = x.subject_id
    where x.id = any (p_ids) and x.state = 'queued' and c.running_turn_id is not null and c.running_turn_id::text <> x.cursor->>'turnId')
$$`;

/** An interrupt is told when the turn that it stops has ended. */
const interruptWaker = `
create function feature_waker_interrupt(p_ids uuid[]) returns uuid[] language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select array(select x.id from execution x join chat c on c.id = x.subject_id where x.id = any (p_ids) and c.running_turn_id::text = x.cursor->>'turnId')
$$`;

const functions = ['feature_lock_chat(uuid[], boolean)', 'feature_rows_chat(execution, uuid, jsonb)'];
const wakers = ['feature_waker_turn(uuid[])', 'feature_waker_interrupt(uuid[])'];

export class Chats1764500000500 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const sql of [...chat, ...turn, ...input, ...item, lockChats, writeRows, turnWaker, interruptWaker]) await q.query(sql);
    await q.query(`alter function feature_lock_chat(uuid[], boolean) owner to openbot_engine`);
    for (const name of functions) {
      await q.query(`revoke all on function ${name} from public`);
      await q.query(`grant execute on function ${name} to openbot_worker`);
    }
    for (const name of wakers) {
      await q.query(`alter function ${name} owner to openbot_engine`);
      await q.query(`revoke all on function ${name} from public`);
    }
  }

  async down(q: QueryRunner): Promise<void> {
    for (const name of [...wakers, ...functions]) await q.query(`drop function ${name}`);
    await q.query(`drop table chat_item, chat_input, chat_turn, chat`);
  }
}
