import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Checks the fence and every call move of one commit; the head is locked by the caller. \`null\` lets it through.
 * Written with coalesce: a comparison with a null owner would be null, and a negated null would pass.
 */
const fence = `
create function commit_fence(h execution, t jsonb) returns text language plpgsql as $$
declare m jsonb; bad boolean;
begin
  if not coalesce(h.generation = (t->>'g')::int and h.owner = t->>'owner' and h.epoch = (t->>'epoch')::bigint and h.claim_id = (t->>'claim')::uuid
    and h.commit_number = (t->>'n')::int - 1 and t->'from' ? h.state
    and (t->>'cancel' is null or h.cancel_number = (t->>'cancel')::int) and (t->>'seen' is null or h.signal_count = (t->>'seen')::int), false)
  then
    -- A head at n or beyond in my generation: only I move the number, so commit n is in.
    return case when h.generation = (t->>'g')::int and h.commit_number >= (t->>'n')::int then 'already' else 'refused' end;
  end if;
  if t ? 'calls' then
    for m in select * from jsonb_array_elements(t->'calls') loop
      if m ? 'move' then
        select not (m->'move' ? c.state) into bad from execution_call c
          where c.execution_id = h.id and c.step = (m->>'step')::int and c.name = m->>'name' and c.attempt = (m->>'attempt')::int;
        if bad is null or bad then return 'refused'; end if;
      end if;
    end loop;
  end if;
  return null;
end $$`;

const commitCalls = `
create function commit_calls(h execution, p_calls jsonb) returns void language plpgsql as $$
declare m jsonb; u jsonb;
begin
  for m in select * from jsonb_array_elements(p_calls) loop
    if m ? 'move' then
      update execution_call c set state = m->>'to', generation = h.generation, result = coalesce(decode(m->>'result', 'base64'), c.result),
        failure_category = coalesce(m->>'category', c.failure_category), error_id = coalesce((m->>'error')::uuid, c.error_id),
        ended_at = case when m->>'to' in ('intent', 'sending') then null else clock_timestamp() end
        where c.execution_id = h.id and c.step = (m->>'step')::int and c.name = m->>'name' and c.attempt = (m->>'attempt')::int;
    else
      insert into execution_call (execution_id, organization_id, project_id, step, name, attempt, generation, kind, safety, provider_key, state, input)
        values (h.id, h.organization_id, h.project_id, (m->>'step')::int, m->>'name', (m->>'attempt')::int, h.generation, m->>'kind', m->>'safety', m->>'key', m->>'to', decode(m->>'input', 'base64'));
    end if;
    if m ? 'usage' then u := m->'usage';
      insert into usage_entry as e (execution_id, step, name, attempt, organization_id, project_id, subject_id, source, provider, model, status,
          input_tokens, output_tokens, cached_input_tokens, cache_write_tokens, reasoning_tokens, estimated_input_tokens)
        values (h.id, (m->>'step')::int, m->>'name', (m->>'attempt')::int, h.organization_id, h.project_id, h.subject_id, u->>'source', u->>'provider', u->>'model', u->>'status',
          (u->>'inputTokens')::bigint, (u->>'outputTokens')::bigint, (u->>'cachedInputTokens')::bigint, (u->>'cacheWriteTokens')::bigint, (u->>'reasoningTokens')::bigint, (u->>'estimatedInputTokens')::bigint)
        on conflict (execution_id, step, name, attempt) do update set status = excluded.status, input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
          cached_input_tokens = excluded.cached_input_tokens, cache_write_tokens = excluded.cache_write_tokens, reasoning_tokens = excluded.reasoning_tokens
          where e.status <> 'confirmed' and excluded.status = 'confirmed';
    end if;
  end loop;
end $$`;

/** One commit of an owner: everything or nothing. The head is locked; the transaction's tenant is the head's. */
const commitOne = `
create function commit_one(t jsonb, out o_outcome text, out o_sequence int) language plpgsql as $$
declare h execution; n int := (t->>'n')::int; k int := jsonb_array_length(t->'events'); does text := t->>'do';
begin
  select * into h from execution x where x.id = (t->>'id')::uuid;
  if not found then o_outcome := 'gone'; return; end if;
  o_outcome := commit_fence(h, t); o_sequence := h.sequence;
  if o_outcome is not null then return; end if;
  o_outcome := 'applied'; o_sequence := h.sequence + k;
  update execution x set commit_number = n, sequence = o_sequence, state = t->>'to', cursor = coalesce(t->'cursor', x.cursor), stalls = 0,
    owner = case when does = 'keep' then x.owner end, epoch = case when does = 'keep' then x.epoch end, claim_id = case when does = 'keep' then x.claim_id end,
    runnable_at = case does when 'yield' then '-infinity'::timestamptz when 'wait' then (t->>'until')::timestamptz end,
    wait_until = case when does = 'wait' then (t->>'until')::timestamptz else x.wait_until end,
    ended_at = case when does = 'end' then clock_timestamp() end, failure_category = t->>'category', error_id = (t->>'error')::uuid where x.id = h.id;
  if k > 0 then
    insert into execution_event (execution_id, sequence, organization_id, project_id, claim_id, commit_number, position, type, step, attempt, state, body)
      select h.id, h.sequence + e.ord, h.organization_id, h.project_id, h.claim_id, n, e.ord, e.v->>'t', (e.v->>'step')::int, (e.v->>'attempt')::int, e.v->>'state', decode(e.v->>'b', 'base64')
      from jsonb_array_elements(t->'events') with ordinality e(v, ord);
  end if;
  if t ? 'calls' then perform commit_calls(h, t->'calls'); end if;
  if t ? 'consume' then
    update execution_signal s set consumed = n from jsonb_to_recordset(t->'consume') c(name text, number int) where s.execution_id = h.id and s.name = c.name and s.number = c.number;
  end if;
  if t ? 'feature' then execute format('select %I($1, $2, $3)', 'feature_rows_' || (t->>'feature')) using h, (t->>'aggregate')::uuid, t->'rows'; end if;
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
 * Commits of several executions and tenants in one call: aggregates are locked by (feature, id), then heads by id, then each item runs under
 * its own tenant's policies, taken from the locked head and never from the caller. With \`p_skip\` what others hold is answered \`busy\`.
 */
const commitBatch = `
create function commit_batch(p_items jsonb, p_skip boolean) returns table (o_id uuid, o_outcome text, o_sequence int) language plpgsql set app.organization = '' set app.project = '' as $$
declare t jsonb; held text[]; heads jsonb; head jsonb;
begin
  held := lock_aggregates(p_items, p_skip);
  select coalesce(jsonb_object_agg(l.id, jsonb_build_array(l.organization_id, l.project_id)), '{}') into heads
    from lock_heads(array(select (v->>'id')::uuid from jsonb_array_elements(p_items) v), p_skip) l;
  for t in select * from jsonb_array_elements(p_items) loop
    o_id := (t->>'id')::uuid; head := heads->(t->>'id'); o_sequence := null;
    if head is null then o_outcome := case when p_skip then 'busy' else 'gone' end;
    elsif t ? 'feature' and not (t->>'feature' || ':' || (t->>'aggregate')) = any (held) then o_outcome := case when p_skip then 'busy' else 'gone' end;
    else
      perform set_config('app.organization', head->>0, true), set_config('app.project', head->>1, true);
      select c.o_outcome, c.o_sequence into o_outcome, o_sequence from commit_one(t) c;
    end if;
    return next;
  end loop;
end $$`;

const functions = ['commit_batch(jsonb, boolean)', 'lock_aggregates(jsonb, boolean)', 'commit_one(jsonb)', 'commit_calls(execution, jsonb)', 'commit_fence(execution, jsonb)'];

export class EngineCommits1764500000040 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const sql of [fence, commitCalls, commitOne, lockAggregates, commitBatch]) await q.query(sql);
    for (const name of functions) {
      await q.query(`revoke all on function ${name} from public`);
      await q.query(`grant execute on function ${name} to openbot_worker`);
    }
  }

  async down(q: QueryRunner): Promise<void> {
    for (const name of functions) await q.query(`drop function ${name}`);
  }
}
