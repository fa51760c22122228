import type { MigrationInterface, QueryRunner } from 'typeorm';

/** One commit of an owner, as libs/engine/src/commit-item.ts writes it. */
const item = `
create type commit_item as (id uuid, g int, owner text, epoch bigint, claim uuid, n int, "from" jsonb, "to" text, "do" text, events jsonb, cursor jsonb, seen int, cancel int,
  until timestamptz, calls jsonb, consume jsonb, feature text, aggregate uuid, rows jsonb, children jsonb, parent uuid, notice text, ending text, version int, category text, error uuid, idle boolean, human boolean, expired boolean)`;

/**
 * The fence of one commit; the head is locked by the caller. Written with coalesce: a comparison with a null owner would be null, and a negated
 * null would pass. A single expression in SQL, so that it becomes part of the statement that asks. Work with open children does not end, and an end
 * names the parent that it is told to.
 */
const fence = `
create function fence_holds(h execution, i commit_item) returns boolean language sql immutable as $$
  select coalesce(h.generation = i.g and h.owner = i.owner and h.epoch = i.epoch and h.claim_id = i.claim and h.commit_number = i.n - 1 and i."from" ? h.state
    and (i.cancel is null or h.cancel_number = i.cancel) and (i.seen is null or h.signal_count = i.seen)
    and (i."do" <> 'end' or (h.open_children = 0 and h.parent_id is not distinct from i.parent)), false)
$$`;

/**
 * Rows are named by arrays of keys and joined by hash, and never by what the planner thinks of tables that were empty when it planned: a plan lives as
 * long as its connection, and a join that walks a whole table for each commit would grow with the table.
 */
const byKeys = 'set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set enable_mergejoin = off';

/** A call move that does not match what is stored refuses its whole commit. Answers the executions of those. */
const refusedCalls = `
create function refused_calls(p_items jsonb, p_ids uuid[]) returns uuid[] language plpgsql ${byKeys} as $$
begin
  return array(select i.id from jsonb_populate_recordset(null::commit_item, p_items) i cross join jsonb_to_recordset(i.calls) m(step int, name text, attempt int, move jsonb)
    left join (select * from execution_call y where y.execution_id = any (p_ids)) c on c.execution_id = i.id and c.step = m.step and c.name = m.name and c.attempt = m.attempt
    where m.move is not null and not coalesce(m.move ? c.state, false));
end $$`;

/** Why a locked head does not take this commit; \`null\` when it does. */
const answer = `
create function commit_fence(h execution, t jsonb) returns text language plpgsql as $$
declare i commit_item := jsonb_populate_record(null::commit_item, t);
begin
  -- A head at n or beyond in my generation and after my claim: only I move the number, so commit n is in.
  if not fence_holds(h, i) then return case when h.generation = i.g and h.last_claim_id = i.claim and h.commit_number >= i.n then 'already' else 'refused' end; end if;
  if i.calls is not null and h.id = any (refused_calls(jsonb_build_array(t), array[h.id])) then return 'refused'; end if;
  return null;
end $$`;

/** What a commit \`i\` changes of its head \`x\`. */
const moves = `commit_number = i.n, workflow_version = coalesce(i.version, x.workflow_version), sequence = x.sequence + jsonb_array_length(i.events), state = i."to", cursor = coalesce(i.cursor, x.cursor), stalls = case when i.idle then x.stalls else 0 end,
      owner = case when i."do" = 'keep' then x.owner end, epoch = case when i."do" = 'keep' then x.epoch end, claim_id = case when i."do" = 'keep' then x.claim_id end,
      runnable_at = case when i."do" = 'yield' then '-infinity'::timestamptz when i."do" in ('wait', 'park') then case when i."to" <> 'waiting' or i.expired or (x.deadline is null and x.budget_ms is null) then i.until else least(i.until, wait_expiry(x, i.human is true)) end end, wait_until = case when i."do" = 'wait' then i.until else x.wait_until end,
      ran_ms = case when i.human or i."do" in ('yield', 'end') then work_clock(x) else x.ran_ms end, ran_from = case when i.human or i."do" in ('yield', 'end') then null else x.ran_from end,
      expired_at = case when i.expired then coalesce(x.expired_at, clock_timestamp()) else x.expired_at end,
      ended_at = case when i."do" = 'end' then clock_timestamp() end, ending = coalesce(x.ending, i.ending),
      failure_category = coalesce(i.category, x.failure_category), error_id = coalesce(i.error, x.error_id)`;

/** The events of the commit \`i\` whose head is \`m\` by now. */
const events = (m: string, i: string) => `
    insert into execution_event (execution_id, sequence, organization_id, project_id, claim_id, commit_number, position, type, step, attempt, state, body)
    select ${m}.id, ${m}.sequence - jsonb_array_length(${i}.events) + e.ord, ${m}.organization_id, ${m}.project_id, ${i}.claim, ${i}.n, e.ord, e.v->>'t', (e.v->>'step')::int, (e.v->>'attempt')::int, e.v->>'state', decode(e.v->>'b', 'base64')`;

/**
 * Whether a commit says something to the feed of the project: a member's work has ended, or waits for a decision on a lost result. A head that was
 * there already says it once.
 */
const tells = (i: string) => `m.member_id is not null and m.state = any ('{completed,failed,cancelled,interrupted,outcome_unknown}') and not ${i}."from" ? m.state`;

const told = `
    insert into product_event_inbox (organization_id, project_id, member_id, type, aggregate_id, aggregate_sequence, data)
    select m.organization_id, m.project_id, m.member_id, 'execution.' || m.state, m.id, m.sequence,
      jsonb_strip_nulls(jsonb_build_object('workflow', m.workflow, 'category', m.failure_category, 'error', m.error_id))`;

/** Moves one head if its fence lets it, and writes its events; null when it does not. A commit alone has no use for what makes many cheap. */
const commitHead = `
create function commit_head(i commit_item) returns execution language plpgsql as $$
declare m execution;
begin
  update execution x set ${moves} where x.id = i.id and fence_holds(x, i) returning * into m;
  if m.id is not null and jsonb_array_length(i.events) > 0 then ${events('m', 'i')} from jsonb_array_elements(i.events) with ordinality e(v, ord); end if;
  if ${tells('i')} then ${told}; end if;
  return m;
end $$`;

/**
 * Moves the heads that their fences let through, and writes their events: all in one statement, because what a statement costs before it touches a
 * row (policies, constraints) is more than the row costs. A whole row costs as much again as its columns: only what is more than its head and log
 * (\`p_more\`) answers with head and item.
 */
const commitHeads = `
create function commit_heads(p_items jsonb, p_ids uuid[], p_more boolean) returns table (id uuid, sequence int, head execution, item commit_item) language plpgsql ${byKeys} as $$
begin
  return query
  with moved as (
    update execution x set ${moves} from jsonb_populate_recordset(null::commit_item, p_items) i where x.id = any (p_ids) and x.id = i.id and fence_holds(x, i)
    returning x.id, x.organization_id, x.project_id, x.sequence, x.state, x.member_id, x.workflow, x.failure_category, x.error_id, i.events, i."from", i.claim, i.n,
      case when p_more then x end as head, case when p_more then i end as item),
  logged as (${events('m', 'm')}
    from moved m cross join lateral jsonb_array_elements(m.events) with ordinality e(v, ord)),
  told as (${told}
    from moved m where ${tells('m')})
  select m.id, m.sequence, m.head, m.item from moved m;
end $$`;

/** New calls, moves of calls and usage of the commits that were applied. A call is moved at most once in a commit. */
const commitCalls = `
create function commit_calls(p_items jsonb, p_ids uuid[]) returns void language plpgsql ${byKeys} as $$
begin
  with call as materialized (
    select x.id, x.organization_id, x.project_id, x.subject_id, x.generation, m.*
    from execution x join jsonb_populate_recordset(null::commit_item, p_items) i on i.id = x.id
    cross join jsonb_to_recordset(i.calls) m(step int, name text, attempt int, "to" text, move jsonb, kind text, safety text, key text, input text, result text, category text, error uuid, usage jsonb, decided text, unknown text, limited boolean)
    where x.id = any (p_ids)),
  moved as (
    update execution_call c set state = m."to", generation = m.generation, result = coalesce(decode(m.result, 'base64'), c.result),
      failure_category = coalesce(m.category, c.failure_category), error_id = coalesce(m.error, c.error_id), decided = coalesce(m.decided, c.decided),
      ended_at = case when m."to" in ('intent', 'sending') then null else clock_timestamp() end
    from call m where c.execution_id = any (p_ids) and m.move is not null and c.execution_id = m.id and c.step = m.step and c.name = m.name and c.attempt = m.attempt),
  made as (
    insert into execution_call (execution_id, organization_id, project_id, step, name, attempt, generation, kind, safety, provider_key, state, on_unknown, limited, input, failure_category, ended_at)
    select m.id, m.organization_id, m.project_id, m.step, m.name, m.attempt, m.generation, m.kind, m.safety, m.key, m."to", m.unknown, coalesce(m.limited, false), decode(m.input, 'base64'), m.category,
      case when m."to" in ('intent', 'sending') then null else clock_timestamp() end from call m where m.move is null)
  insert into usage_entry as e (execution_id, step, name, attempt, organization_id, project_id, subject_id, source, provider, model, status,
      input_tokens, output_tokens, cached_input_tokens, cache_write_tokens, reasoning_tokens, estimated_input_tokens)
    select m.id, m.step, m.name, coalesce(u.attempt, m.attempt), m.organization_id, m.project_id, m.subject_id, u.source, u.provider, u.model, u.status,
      u."inputTokens", u."outputTokens", u."cachedInputTokens", u."cacheWriteTokens", u."reasoningTokens", u."estimatedInputTokens"
    from call m cross join jsonb_to_record(m.usage) u(attempt int, source text, provider text, model text, status text, "inputTokens" bigint, "outputTokens" bigint, "cachedInputTokens" bigint,
      "cacheWriteTokens" bigint, "reasoningTokens" bigint, "estimatedInputTokens" bigint)
    where m.usage is not null
    on conflict (execution_id, step, name, attempt) do update set status = excluded.status, input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
      cached_input_tokens = excluded.cached_input_tokens, cache_write_tokens = excluded.cache_write_tokens, reasoning_tokens = excluded.reasoning_tokens
      where e.status <> 'confirmed' and excluded.status = 'confirmed';
end $$`;

const consumeSignals = `
create function consume_signals(p_items jsonb, p_ids uuid[]) returns void language plpgsql ${byKeys} as $$
begin
  update execution_signal s set consumed = i.n from jsonb_populate_recordset(null::commit_item, p_items) i cross join jsonb_to_recordset(i.consume) c(name text, number int)
    where s.execution_id = any (p_ids) and s.execution_id = i.id and s.name = c.name and s.number = c.number;
end $$`;

/** A feature writes the rows of a commit by its own function, which gets the head as the commit leaves it. */
const commitFeature = `
create function commit_feature(h execution, i commit_item) returns void language plpgsql as $$
begin
  execute format('select %I($1, $2, $3)', 'feature_rows_' || i.feature) using h, i.aggregate, i.rows;
end $$`;

/** Children of the commits that were applied: each is its parent's, whatever it says itself. */
const commitChildren = `
create function commit_children(p_items jsonb, p_ids uuid[]) returns void language plpgsql as $$
begin
  perform admit_executions(jsonb_agg(c.v || jsonb_build_object('parent', i.v->>'id')))
    from jsonb_array_elements(p_items) i(v) cross join jsonb_array_elements(i.v->'children') c(v) where (i.v->>'id')::uuid = any (p_ids) having count(*) > 0;
end $$`;

/**
 * The commits of one tenant, each everything or nothing; the heads are locked and the transaction's tenant is theirs. A call that its gate does not let
 * out is part of an applied commit all the same: \`o_gate\` says why, and the call's row does.
 */
const commitTenant = `
create function commit_tenant(p_items jsonb, p_ids uuid[]) returns table (o_id uuid, o_outcome text, o_sequence int, o_gate jsonb) language plpgsql as $$
declare h execution; i commit_item; r record; g record; passed uuid[] := p_ids; applied uuid[] := '{}'; sequences int[];
  more boolean := jsonb_path_exists(p_items, '$[*] ? (exists(@.feature) || exists(@.calls) || exists(@.consume) || exists(@.children) || exists(@.parent) || exists(@.notes))');
  calls boolean := more and jsonb_path_exists(p_items, '$[*].calls'); gates boolean := calls and jsonb_path_exists(p_items, '$[*].calls[*].gate');
begin
  if calls then passed := array(select unnest(p_ids) except select unnest(refused_calls(p_items, p_ids))); end if;
  if jsonb_array_length(p_items) = 1 then
    i := jsonb_populate_record(null::commit_item, p_items->0);
    if i.id = any (passed) then h := commit_head(i); end if;
    if h.id is not null then
      applied := array[h.id];
      if i.feature is not null then perform commit_feature(h, i); end if;
      if i.parent is not null and h.ended_at is not null then perform end_child(h, i.notice); end if;
      if gates then
        g := pass_gate(h, i.calls);
        o_gate := g.o_gate; p_items := jsonb_set(p_items, '{0,calls}', g.o_calls);
      end if;
      o_id := h.id; o_outcome := 'applied'; o_sequence := h.sequence;
      return next;
    end if;
  elsif not more then
    select array_agg(c.id), array_agg(c.sequence) into applied, sequences from commit_heads(p_items, passed, false) c;
    return query select a.id, 'applied', a.sequence, null::jsonb from unnest(applied, sequences) a(id, sequence);
  else
    for r in select * from commit_heads(p_items, passed, true) loop
      o_id := r.id; o_outcome := 'applied'; o_sequence := r.sequence;
      applied := applied || o_id;
      if (r.item).feature is not null then perform commit_feature(r.head, r.item); end if;
      if (r.item).parent is not null and (r.head).ended_at is not null then perform end_child(r.head, (r.item).notice); end if;
      o_gate := null;
      if gates and jsonb_path_exists((r.item).calls, '$[*].gate') then
        g := pass_gate(r.head, (r.item).calls);
        o_gate := g.o_gate;
        if o_gate is not null then
          p_items := (select jsonb_agg(case when v->>'id' = o_id::text then jsonb_set(v, '{calls}', g.o_calls) else v end) from jsonb_array_elements(p_items) v);
        end if;
      end if;
      return next;
    end loop;
  end if;
  if more and cardinality(applied) > 0 then
    if calls then perform commit_calls(p_items, applied); end if;
    if calls and jsonb_path_exists(p_items, '$[*].calls[*].limited') then perform release_limits(p_items, applied); end if;
    if jsonb_path_exists(p_items, '$[*].notes') then perform write_notes(p_items, applied); end if;
    if jsonb_path_exists(p_items, '$[*].consume') then perform consume_signals(p_items, applied); end if;
    if jsonb_path_exists(p_items, '$[*].children') then perform commit_children(p_items, applied); end if;
  end if;
  if coalesce(cardinality(applied), 0) < cardinality(p_ids) then
    for o_id, o_outcome, o_sequence, o_gate in
      select l.id, case when x.id is null then 'gone' else coalesce(commit_fence(x, v), 'refused') end, x.sequence, case when gates then stored_gate(l.id, v->'calls') end
      from unnest(p_ids) l(id) join jsonb_array_elements(p_items) v on (v->>'id')::uuid = l.id left join (select * from execution y where y.id = any (p_ids)) x on x.id = l.id
      where not coalesce(l.id = any (applied), false)
    loop return next; end loop;
  end if;
end $$`;

/** As \`commit_tenant\`, for the one commit of a transaction that has locked and fenced its head. */
const commitOne = `
create function commit_one(t jsonb, out o_outcome text, out o_sequence int) language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
  select c.o_outcome, c.o_sequence into o_outcome, o_sequence from commit_tenant(jsonb_build_array(t), array[(t->>'id')::uuid]) c;
end $$`;

/** Locks the aggregates of a batch, feature by feature, by id; answers what it got as \`feature:id\`. */
const lockAggregates = `
create function lock_aggregates(p_items jsonb, p_skip boolean) returns text[] language plpgsql as $$
declare f record; got uuid[]; held text[] := '{}';
begin
  for f in select v->>'feature' as feature, array_agg(distinct (v->>'aggregate')::uuid) as ids from jsonb_array_elements(p_items) v where v ? 'feature' group by 1 order by 1 loop
    execute format('select %I($1, $2)', 'feature_lock_' || f.feature) using f.ids, p_skip into got;
    held := held || array(select f.feature || ':' || g from unnest(got) g);
  end loop;
  return held;
end $$`;

/**
 * Commits of several executions and tenants in one call: aggregates are locked by (feature, id), then heads by id, then each tenant's commits run
 * under its own policies; the tenant is taken from the locked heads and never from the caller. With \`p_skip\` what others hold is answered \`busy\`.
 */
const commitBatch = `
create function commit_batch(p_items jsonb, p_skip boolean) returns table (o_id uuid, o_outcome text, o_sequence int, o_gate jsonb) language plpgsql
  set plan_cache_mode = force_generic_plan set app.organization = '' set app.project = '' as $$
declare held text[]; revoking uuid[] := '{}'; l record; answered uuid[] := '{}'; t record; i commit_item; h execution;
begin
  if jsonb_array_length(p_items) = 1 and not p_items->0 ?| '{feature,calls,consume,children,parent,notes}' then
    -- Alone, and of nothing but its head and log, as most are that go alone. Whatever keeps it from that is found out below.
    i := jsonb_populate_record(null::commit_item, p_items->0);
    l := lock_heads(array[i.id], p_skip);
    if l.ids is not null then
      perform set_config('app.organization', l.organizations[1]::text, true), set_config('app.project', l.projects[1]::text, true);
      h := commit_head(i);
      if h.id is not null then
        o_id := h.id; o_outcome := 'applied'; o_sequence := h.sequence;
        return next;
        return;
      end if;
    end if;
  end if;
  if jsonb_path_exists(p_items, '$[*].feature') then held := lock_aggregates(p_items, p_skip); end if;
  if jsonb_path_exists(p_items, '$[*].calls[*].gate.identity') then revoking := lock_identities(p_items, p_skip); end if;
  l := lock_heads(array(select (v->>'id')::uuid from jsonb_array_elements(p_items) v where not (v->>'id')::uuid = any (revoking)), p_skip);
  if held is null and cardinality(l.ids) = jsonb_array_length(p_items) and l.organizations[1] = all (l.organizations) and l.projects[1] = all (l.projects) then
    -- One tenant's and whole, as most batches are: nothing has to be sorted out.
    perform set_config('app.organization', l.organizations[1]::text, true), set_config('app.project', l.projects[1]::text, true);
    return query select * from commit_tenant(p_items, l.ids);
    return;
  end if;
  for t in
    select k.organization_id, k.project_id, jsonb_agg(e.v) as items, array_agg(k.id) as ids
    from unnest(l.ids, l.organizations, l.projects) k(id, organization_id, project_id) join jsonb_array_elements(p_items) e(v) on (e.v->>'id')::uuid = k.id
    where not e.v ? 'feature' or (e.v->>'feature' || ':' || (e.v->>'aggregate')) = any (held)
    group by 1, 2
  loop
    perform set_config('app.organization', t.organization_id::text, true), set_config('app.project', t.project_id::text, true);
    return query select * from commit_tenant(t.items, t.ids);
    answered := answered || t.ids;
  end loop;
  return query select (v->>'id')::uuid, case when p_skip then 'busy' else 'gone' end, null::int, null::jsonb from jsonb_array_elements(p_items) v where not (v->>'id')::uuid = any (answered);
end $$`;

const functions = [
  'commit_batch(jsonb, boolean)',
  'lock_aggregates(jsonb, boolean)',
  'commit_one(jsonb)',
  'commit_tenant(jsonb, uuid[])',
  'commit_children(jsonb, uuid[])',
  'consume_signals(jsonb, uuid[])',
  'commit_calls(jsonb, uuid[])',
  'commit_feature(execution, commit_item)',
  'commit_heads(jsonb, uuid[], boolean)',
  'commit_head(commit_item)',
  'commit_fence(execution, jsonb)',
  'refused_calls(jsonb, uuid[])',
  'fence_holds(execution, commit_item)',
];

export class EngineCommits1764500000040 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const sql of [
      item,
      fence,
      refusedCalls,
      answer,
      commitHead,
      commitHeads,
      commitCalls,
      consumeSignals,
      commitChildren,
      commitFeature,
      commitTenant,
      commitOne,
      lockAggregates,
      commitBatch,
    ])
      await q.query(sql);
    for (const name of functions) {
      await q.query(`revoke all on function ${name} from public`);
      await q.query(`grant execute on function ${name} to openbot_worker`);
    }
  }

  async down(q: QueryRunner): Promise<void> {
    for (const name of functions) await q.query(`drop function ${name}`);
    await q.query(`drop type commit_item`);
  }
}
