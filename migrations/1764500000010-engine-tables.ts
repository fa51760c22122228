import type { MigrationInterface, QueryRunner } from 'typeorm';
import { protectTable } from './protect-table.js';

const node = `
create table node (
  name text primary key,
  epoch bigint not null,
  beat bigint not null default 0,
  draining boolean not null default false,
  seen_at timestamptz not null default clock_timestamp(),
  last_epoch_seen_at timestamptz,
  knows text[] not null default '{}',
  process uuid,
  started_at timestamptz not null default clock_timestamp()
)`;

/**
 * The head of stored work. Nothing that a step changes is indexed, and pages keep room, so that steps are HOT updates.
 * `trace` is the W3C traceparent of what admitted the work, written once.
 * No foreign key: a reference would be a lock that the engine's order does not know.
 * `open_children` counts the attached children that have not ended, because no read of another row may decide an end. `ending` is the end that
 * waits for them: they were asked to stop, and none may come any more.
 * Every statement that writes here reads the constraints anew: a list as one literal takes a third of the time of one with `in`.
 */
const execution = `
create table execution (
  id uuid primary key,
  organization_id uuid not null,
  project_id uuid not null,
  workflow text not null,
  workflow_version int not null,
  subject_id uuid,
  identity_id uuid,
  parent_id uuid,
  attached boolean not null default false,
  open_children int not null default 0,
  state text not null default 'queued',
  cursor jsonb not null default '{}',
  generation int not null default 0,
  owner text,
  epoch bigint,
  claim_id uuid,
  last_claim_id uuid,
  commit_number int not null default 0,
  signal_count int not null default 0,
  sequence int not null default 0,
  cancel_number int not null default 0,
  runnable_at timestamptz,
  wait_until timestamptz,
  stalls int not null default 0,
  deadline timestamptz,
  budget_ms bigint,
  ran_ms bigint not null default 0,
  ran_from bigint,
  expired_at timestamptz,
  ending text,
  failure_category text,
  error_id uuid,
  trace text,
  created_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  ended_at timestamptz,
  constraint execution_state_known check (state = any ('{queued,running,waiting,cancelling,outcome_unknown,completed,failed,cancelled,interrupted}')),
  constraint execution_end_is_marked check ((ended_at is not null) = (state = any ('{completed,failed,cancelled,interrupted}'))),
  constraint execution_end_is_free check (ended_at is null or (owner is null and runnable_at is null)),
  constraint execution_owner_has_claim check ((owner is null) = (claim_id is null) and (owner is null) = (epoch is null)),
  constraint execution_owned_is_not_ready check (owner is null or runnable_at is null),
  constraint execution_failure_is_whole check (failure_category is null or ending is not null or state = any ('{failed,cancelled,interrupted}')),
  constraint execution_family_adds_up check (open_children >= 0 and (ended_at is null or open_children = 0) and (parent_id is not null or not attached))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0)`;

const executionEvent = `
create table execution_event (
  execution_id uuid not null,
  sequence int not null,
  organization_id uuid not null,
  project_id uuid not null,
  claim_id uuid,
  commit_number int,
  position int,
  type text not null,
  step int,
  attempt int,
  state text,
  body bytea,
  created_at timestamptz not null default clock_timestamp(),
  primary key (execution_id, sequence)
)`;

const executionCall = `
create table execution_call (
  execution_id uuid not null,
  step int not null,
  name text not null,
  attempt int not null,
  organization_id uuid not null,
  project_id uuid not null,
  generation int not null,
  kind text not null,
  safety text not null,
  provider_key text not null,
  state text not null,
  late boolean not null default false,
  on_unknown text,
  limited boolean not null default false,
  decided text,
  input bytea,
  result bytea,
  failure_category text,
  error_id uuid,
  created_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  primary key (execution_id, step, name, attempt),
  constraint execution_call_safety_known check (safety = any ('{repeatable,keyed,reconcilable,unproven}')),
  constraint execution_call_state_known check (state = any ('{intent,sending,succeeded,failed,unknown,abandoned}')),
  constraint execution_call_policy_known check (on_unknown = any ('{stop,retry}')),
  constraint execution_call_decision_known check (decided = any ('{stop,retry,result}'))
) with (fillfactor = 80)`;

const executionSignal = `
create table execution_signal (
  execution_id uuid not null,
  name text not null,
  number int not null,
  organization_id uuid not null,
  project_id uuid not null,
  body bytea,
  consumed int,
  created_at timestamptz not null default clock_timestamp(),
  primary key (execution_id, name, number)
)`;

/** A receipt outlives what it names. The key and the input are MACs. */
const executionCommand = `
create table execution_command (
  scope_id uuid not null,
  key_hmac bytea not null,
  input_hmac bytea not null,
  organization_id uuid not null,
  receipt jsonb,
  created_at timestamptz not null default clock_timestamp(),
  primary key (scope_id, key_hmac)
)`;

const usageEntry = `
create table usage_entry (
  execution_id uuid not null,
  step int not null,
  name text not null,
  attempt int not null,
  organization_id uuid not null,
  project_id uuid not null,
  subject_id uuid,
  source text not null,
  provider text not null,
  model text not null,
  status text not null,
  input_tokens bigint,
  output_tokens bigint,
  cached_input_tokens bigint,
  cache_write_tokens bigint,
  reasoning_tokens bigint,
  estimated_input_tokens bigint,
  created_at timestamptz not null default clock_timestamp(),
  primary key (execution_id, step, name, attempt),
  constraint usage_entry_status_known check (status = any ('{confirmed,estimated,unknown}')),
  constraint usage_entry_unknown_is_not_zero check (status <> 'unknown' or (input_tokens is null and output_tokens is null))
)`;

const sealedRecord = `
create table sealed_record (
  id uuid primary key,
  organization_id uuid not null,
  project_id uuid not null,
  kind text not null,
  body bytea not null,
  created_at timestamptz not null default clock_timestamp()
)`;

/** The full cause of a failure. Failures outside any tenant have no organization and are the platform's own. */
const errorRecord = `
create table error_record (
  id uuid primary key,
  organization_id uuid,
  project_id uuid,
  execution_id uuid,
  category text not null,
  cause bytea not null,
  created_at timestamptz not null default clock_timestamp()
)`;

export class EngineTables1764500000010 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const table of [node, execution, executionEvent, executionCall, executionSignal, executionCommand, usageEntry, sealedRecord, errorRecord]) await q.query(table);

    await q.query(`create index execution_ready on execution (runnable_at) where runnable_at is not null and owner is null`);
    await q.query(`create index execution_owned on execution (owner) where owner is not null`);
    // What waits for others: where an operator looks for work that nobody wakes.
    await q.query(`create index execution_parked on execution (id) where ended_at is null and owner is null and runnable_at is null`);
    await q.query(`create index execution_subject on execution (organization_id, project_id, subject_id) where subject_id is not null`);
    await q.query(`create index execution_parent on execution (organization_id, project_id, parent_id) where parent_id is not null`);
    await q.query(`create index execution_signal_open on execution_signal (execution_id) where consumed is null`);

    for (const table of ['execution', 'execution_event', 'execution_call', 'execution_signal', 'usage_entry', 'sealed_record'])
      for (const sql of protectTable(table, 'project')) await q.query(sql);
    for (const sql of protectTable('execution_command', 'organization')) await q.query(sql);

    await q.query(`alter table error_record enable row level security`);
    await q.query(`alter table error_record force row level security`);
    await q.query(
      `create policy error_record_tenant on error_record to openbot_app using (organization_id = tenant_organization()) with check (organization_id = tenant_organization())`,
    );
    await q.query(`create policy error_record_platform on error_record for insert to openbot_app with check (organization_id is null and tenant_organization() is null)`);
    await q.query(`grant select, insert on error_record to openbot_app`);

    // The engine claims and locks across tenants through its own functions; nothing else of a tenant is open to it.
    await q.query(`create policy execution_engine on execution to openbot_engine using (true) with check (true)`);
    await q.query(`grant select, update on execution to openbot_engine`);
    await q.query(`grant select, insert, update, delete on node to openbot_worker`);
    await q.query(`grant select on node to openbot_engine`);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop table error_record, sealed_record, usage_entry, execution_command, execution_signal, execution_call, execution_event, execution, node`);
  }
}
