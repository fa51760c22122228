import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Every sender: head first (the caller may hold it already), then the row, then the counter. Ended work gets history and is never made
 * ready. \`p_number\` null takes the next number of that name. Answers the number, or null when the signal was there before or the work is gone.
 */
const sendSignal = `
create function send_signal(p_id uuid, p_name text, p_number int, p_body bytea) returns int language plpgsql as $$
declare h execution; n int := p_number;
begin
  select * into h from execution x where x.id = p_id for no key update;
  if not found then return null; end if;
  if n is null then select coalesce(max(s.number), 0) + 1 into n from execution_signal s where s.execution_id = p_id and s.name = p_name; end if;
  insert into execution_signal (execution_id, organization_id, project_id, name, number, body) values (h.id, h.organization_id, h.project_id, p_name, n, p_body) on conflict do nothing;
  if not found then return null; end if;
  update execution x set signal_count = x.signal_count + 1,
    runnable_at = case when x.owner is null and x.ended_at is null then '-infinity'::timestamptz else x.runnable_at end where x.id = h.id;
  return n;
end $$`;

/** Appends one event to a head that the caller holds; answers its sequence. */
const appendEvent = `
create function append_event(p_id uuid, p_type text, p_state text, p_body bytea) returns int language plpgsql as $$
declare h execution;
begin
  update execution x set sequence = x.sequence + 1 where x.id = p_id returning * into h;
  insert into execution_event (execution_id, sequence, organization_id, project_id, type, state, body) values (h.id, h.sequence, h.organization_id, h.project_id, p_type, p_state, p_body);
  return h.sequence;
end $$`;

/**
 * A stop was asked: number + 1, a signal, and \`cancelling\`. In \`outcome_unknown\` it marks the request and waits for the settlement; ended work
 * stays as it is. Answers the state and the sequence after it, or no row when the work is gone.
 */
const requestCancel = `
create function request_cancel(p_id uuid) returns table (o_number int, o_state text, o_sequence int) language plpgsql as $$
declare h execution;
begin
  select * into h from execution x where x.id = p_id for no key update;
  if not found then return; end if;
  if h.ended_at is null then
    update execution x set cancel_number = x.cancel_number + 1, state = case when x.state = 'outcome_unknown' then x.state else 'cancelling' end where x.id = h.id;
    if h.state not in ('outcome_unknown', 'cancelling') then perform append_event(h.id, 'State', 'cancelling', null); end if;
    perform send_signal(h.id, 'cancel', h.cancel_number + 1, null);
    select * into h from execution x where x.id = p_id;
  end if;
  return query select h.cancel_number, h.state, h.sequence;
end $$`;

/**
 * Settles one unknown call by a person's decision; the runner reads it. Compare-and-set: a call that is not unknown, or is decided, answers false.
 * \`result\` gives the call the result that the person knows of.
 */
const decideCall = `
create function decide_call(p_id uuid, p_step int, p_name text, p_attempt int, p_decision text, p_result bytea) returns boolean language plpgsql as $$
begin
  perform 1 from execution x where x.id = p_id for no key update;
  update execution_call c set decided = p_decision, state = case p_decision when 'result' then 'succeeded' else 'unknown' end, result = coalesce(p_result, c.result), ended_at = clock_timestamp()
    where c.execution_id = p_id and c.step = p_step and c.name = p_name and c.attempt = p_attempt and c.state = 'unknown' and c.decided is null;
  if not found then return false; end if;
  perform send_signal(p_id, 'decision', null, null);
  return true;
end $$`;

/** Makes waiting work ready: what another execution's end lets go. The caller holds the head. */
const makeReady = `
create function make_ready(p_id uuid) returns boolean language plpgsql as $$
begin
  update execution x set runnable_at = '-infinity' where x.id = p_id and x.owner is null and x.ended_at is null;
  return found;
end $$`;

/**
 * Pages of several logs in one question, each under its own tenant's policies: \`[{id, organization, project, after, limit, bytes}]\`.
 * A page ends with the event that fills its bytes, so that a few large events never make a large answer.
 * The caller has checked the reader's rights.
 */
const readEvents = `
create function read_events(p jsonb) returns setof execution_event language plpgsql set app.organization = '' set app.project = '' as $$
declare t jsonb; r execution_event; room bigint;
begin
  for t in select * from jsonb_array_elements(p) loop
    perform set_config('app.organization', t->>'organization', true), set_config('app.project', t->>'project', true);
    room := coalesce((t->>'bytes')::bigint, 1048576);
    for r in select e.* from execution_event e where e.execution_id = (t->>'id')::uuid and e.sequence > (t->>'after')::int order by e.sequence limit (t->>'limit')::int loop
      return next r;
      room := room - coalesce(octet_length(r.body), 0);
      exit when room <= 0;
    end loop;
  end loop;
end $$`;

const functions = [
  'send_signal(uuid, text, int, bytea)',
  'append_event(uuid, text, text, bytea)',
  'request_cancel(uuid)',
  'decide_call(uuid, int, text, int, text, bytea)',
  'make_ready(uuid)',
  'read_events(jsonb)',
];

export class EngineSignals1764500000030 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const sql of [sendSignal, appendEvent, requestCancel, decideCall, makeReady, readEvents]) await q.query(sql);
    for (const name of functions) {
      await q.query(`revoke all on function ${name} from public`);
      await q.query(`grant execute on function ${name} to openbot_app`);
    }
  }

  async down(q: QueryRunner): Promise<void> {
    for (const name of functions) await q.query(`drop function ${name}`);
  }
}
