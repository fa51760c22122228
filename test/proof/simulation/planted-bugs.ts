/** One edit of a function as it stands in the database: a bug is a small change of the real thing, never a copy of it. */
export type Edit = { readonly of: string; readonly from: string | RegExp; readonly to: string };
export type PlantedBug = {
  readonly name: string;
  /** What goes wrong with it, in one line. */
  readonly because: string;
  readonly edits: readonly Edit[];
  /** A rule of the client that is broken instead, where a function is one turn and nothing comes between its statements. */
  readonly rule?: 'signals before the counter';
  /** Statements around the edits. */
  readonly also?: readonly string[];
};

const asSuperuser = (signature: string): string => `alter function ${signature} owner to current_user`;

export const plantedBugs: readonly PlantedBug[] = [
  {
    name: 'NOT EXISTS (unread signal) instead of the counter',
    because: 'a statement that waited for a lock still has its old picture of the other table',
    edits: [
      { of: 'fence_holds', from: 'and (i.seen is null or h.signal_count = i.seen)', to: '' },
      { of: 'lock_heads', from: /for no key update(?! skip)/g, to: '' },
      ...['commit_head', 'commit_heads'].map((of) => ({
        of,
        from: `when i."do" in ('wait', 'park') then`,
        to: `when i."do" = 'wait' and exists (select from execution_signal s where s.execution_id = x.id and s.consumed is null) then '-infinity'::timestamptz
          when i."do" in ('wait', 'park') then`,
      })),
    ],
  },
  {
    name: 'a fence without the commit number',
    because: 'the same bytes that come again are applied again',
    edits: [{ of: 'fence_holds', from: 'h.commit_number = i.n - 1 and', to: '' }],
  },
  {
    name: 'an unconditional unknown on takeover',
    because: 'a call whose result is stored has nothing unknown about it',
    edits: [
      {
        of: 'release_executions',
        from: /begin\s/i,
        to: `begin update execution_call c set state = 'unknown' from execution x where x.owner = p_owner and not (x.claim_id = any (p_keep)) and c.execution_id = x.id and c.safety = 'unproven'; `,
      },
    ],
    also: [asSuperuser('release_executions(text, bigint, uuid[], int)')],
  },
  {
    name: 'now() where a signal makes work ready',
    because: 'a clock that steps back puts the work to sleep',
    edits: [{ of: 'send_signal', from: `then '-infinity'::timestamptz`, to: 'then now()' }],
  },
  {
    name: 'now() as the instant of a claim',
    because: 'in a long transaction it lies before the timer that woke the work',
    edits: [{ of: 'claim_executions', from: 'returning x, clock_timestamp()', to: 'returning x, now()' }],
  },
  {
    name: 'signals read before the counter',
    because: 'a counter that is newer than the signals beside it says that all of them were read',
    edits: [],
    rule: 'signals before the counter',
  },
  {
    name: 'heads locked the other way round',
    because: 'whoever locks by id and whoever locks against it wait for each other',
    edits: [{ of: 'lock_heads', from: /order by x\.id for no key update\)/g, to: 'order by x.id desc for no key update)' }],
  },
  {
    name: '`already` from the owner alone',
    because: 'a commit that was refused counts as one that is in',
    edits: [{ of: 'commit_fence', from: 'and h.commit_number >= i.n', to: '' }],
  },
  {
    name: 'a claim that overwrites cancelling',
    because: 'the next owner knows nothing of the cancel',
    edits: [{ of: 'claim_executions', from: `('queued', 'waiting')`, to: `('queued', 'waiting', 'cancelling')` }],
  },
  {
    name: 'a gate that asks neither for the cancel number nor for the state',
    because: 'a send follows a cancel that was accepted',
    edits: [
      { of: 'fence_holds', from: 'and (i.cancel is null or h.cancel_number = i.cancel)', to: '' },
      { of: 'fence_holds', from: 'and i."from" ? h.state', to: '' },
    ],
  },
  {
    name: 'call moves without compare-and-set',
    because: 'whoever decides second overwrites the first',
    edits: [{ of: 'decide_call', from: `c.state = 'unknown' and c.decided is null`, to: `c.state = any ('{unknown,succeeded}')` }],
  },
  {
    name: 'sequences from the log instead of the head',
    because: 'the log of a head that somebody else moves is not the head',
    edits: [{ of: 'append_event', from: 'set sequence = x.sequence + 1', to: 'set sequence = x.sequence + 2' }],
  },
  {
    name: 'a feed whose counter nobody locks',
    because: 'two who number at once give one position twice, or read what the other has just taken',
    edits: [{ of: 'sequence_feed', from: 'order by f.organization_id, f.project_id for no key update', to: 'order by f.organization_id, f.project_id' }],
  },
  {
    name: 'an end that does not ask for its children',
    because: 'what is attached outlives its parent',
    edits: [{ of: 'fence_holds', from: 'h.open_children = 0 and ', to: '' }],
  },
  {
    name: 'children that are not counted',
    because: 'no read of another row may decide an end',
    edits: [{ of: 'end_child', from: 'open_children - 1', to: 'open_children' }],
  },
  {
    name: 'a late result over a decision',
    because: 'what somebody decided stands, also when the answer comes after all',
    edits: [{ of: 'late_result', from: 'h.ended_at is null and c.decided is null and', to: 'h.ended_at is null and' }],
  },
  {
    name: 'a permit freed on takeover',
    because: 'what the dead owner sent is still on its way, and takes the place that somebody else gets',
    edits: [
      {
        of: 'release_executions',
        from: /begin\s/i,
        to: `begin update permit p set state = 'freed' from execution x where x.owner = p_owner and not (x.claim_id = any (p_keep)) and p.execution_id = x.id; `,
      },
    ],
    also: [asSuperuser('release_executions(text, bigint, uuid[], int)')],
  },
  {
    name: 'a permit freed as soon as its call is given up',
    because: 'that nobody waits for an answer any more takes nothing back that is outside',
    edits: [{ of: 'release_limits', from: `m."to" in ('succeeded', 'failed') or`, to: `m."to" in ('succeeded', 'failed', 'unknown', 'abandoned') or` }],
  },
  {
    name: 'tokens of the time to come, given out at once',
    because: 'a reservation is no token: by its instant alone it becomes one',
    edits: [{ of: 'take_tokens', from: /r\.ready_at := b\.as_of \+ make_interval\(.*?\);/, to: 'r.ready_at := b.as_of;' }],
  },
  {
    name: 'a time that runs on behind a takeover',
    because: 'work that nobody owns uses up nothing of its budget',
    edits: [{ of: 'release_executions', from: 'ran_from = null, ran_ms', to: 'ran_ms' }],
  },
  {
    name: 'a lease closed because its owner went',
    because: 'that a node is missing proves nothing of what it holds',
    edits: [{ of: 'lose_leases', from: `set state = 'unknown'`, to: `set state = 'closed', closed_at = clock_timestamp()` }],
  },
  {
    name: 'a sent call that a takeover makes an intent again',
    because: 'whoever finds it sends it, and asks nobody whether it was sent',
    edits: [
      {
        of: 'release_executions',
        from: /begin\s/i,
        to: `begin update execution_call c set state = 'intent' from execution x where x.owner = p_owner and not (x.claim_id = any (p_keep)) and c.execution_id = x.id and c.safety = 'reconcilable' and c.state = 'sending'; `,
      },
    ],
    also: [asSuperuser('release_executions(text, bigint, uuid[], int)')],
  },
];
