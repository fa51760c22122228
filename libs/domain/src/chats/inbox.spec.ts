import fc from 'fast-check';
import { admitMessage, afterTurn, placeInput, type AfterTurn, type Author, type Inbox, type Placement, type WaitingTurn } from './inbox.js';

const ann: Author = { memberId: 'ann', tokenId: 'laptop' };
const annPhone: Author = { memberId: 'ann', tokenId: 'phone' };
const bob: Author = { memberId: 'bob', tokenId: 'laptop' };

const free: Inbox = { advancing: null, waiting: [] };
const running = { id: 'run', author: ann, began: true, stopping: false };
const ready = { ...running, began: false };
const annWaits: WaitingTurn = { id: 'ann-waits', author: ann, firstInput: 5 };
const bobWaits: WaitingTurn = { id: 'bob-waits', author: bob, firstInput: 7 };

const steers: Placement = { _tag: 'Steers', turn: 'run' };
const joins = (turn: string): Placement => ({ _tag: 'Joins', turn });
const starts = (advances: boolean): Placement => ({ _tag: 'StartsTurn', advances });

describe('placeInput', () => {
  test.each<[string, Inbox, Author, boolean, Placement]>([
    ['a free chat starts a turn', free, ann, false, starts(true)],
    ['queue: true starts one in a free chat too', free, ann, true, starts(true)],
    ['the same author steers the running turn', { advancing: running, waiting: [] }, ann, false, steers],
    ['queue: true waits even for the same author', { advancing: running, waiting: [] }, ann, true, starts(false)],
    ['another author waits', { advancing: running, waiting: [] }, bob, false, starts(false)],
    ['another token of the same person is another author', { advancing: running, waiting: [] }, annPhone, false, starts(false)],
    ['what waits of one author waits together', { advancing: running, waiting: [bobWaits, annWaits] }, ann, true, joins('ann-waits')],
    ['a steer may overtake what its own author has waiting', { advancing: running, waiting: [annWaits] }, ann, false, steers],
    ['a turn that has not begun is joined', { advancing: ready, waiting: [] }, ann, false, joins('run')],
    ['also with queue: true, because nothing runs yet', { advancing: ready, waiting: [] }, ann, true, joins('run')],
    ['a turn of another author that has not begun is not', { advancing: ready, waiting: [] }, bob, false, starts(false)],
    ['a turn that is being stopped takes nothing more', { advancing: { ...running, stopping: true }, waiting: [] }, ann, false, starts(false)],
    ['nor one that is stopped before it began', { advancing: { ...ready, stopping: true }, waiting: [annWaits] }, ann, false, joins('ann-waits')],
  ])('%s', (_, inbox, author, queue, expected) => {
    expect(placeInput(inbox, { author, queue })).toEqual(expected);
  });
});

describe('admitMessage', () => {
  test.each(['direct', 'task', 'live'] as const)('a %s chat takes messages', (kind) => {
    expect(admitMessage({ kind, isDeleted: false }, free, { author: ann, queue: false })).toEqual({ ok: true, value: starts(true) });
  });
  test.each(['channel', 'review'] as const)('a %s chat takes none from people', (kind) => {
    expect(admitMessage({ kind, isDeleted: false }, free, { author: ann, queue: false })).toEqual({ ok: false, failure: { _tag: 'ChatConflict', kind } });
  });
  test('a deleted chat is not there', () => {
    expect(admitMessage({ kind: 'direct', isDeleted: true }, free, { author: ann, queue: false })).toEqual({ ok: false, failure: { _tag: 'ChatNotFound' } });
  });
});

describe('afterTurn', () => {
  const ending = { author: ann, began: true, advanced: true, unread: [] as number[] };
  const nothing = { _tag: 'Nothing' } as const;
  const none = { _tag: 'None' } as const;
  const waits = (turn: string) => ({ _tag: 'Waiting', turn }) as const;

  test.each<[string, typeof ending, WaitingTurn[], AfterTurn]>([
    ['an empty inbox leaves the chat free', ending, [], { keeps: false, returns: nothing, next: none }],
    ['the turn that waits longest is next', ending, [bobWaits, annWaits], { keeps: false, returns: nothing, next: waits('ann-waits') }],
    ['an unread steer gets a turn of its own', { ...ending, unread: [6, 8] }, [], { keeps: false, returns: { _tag: 'ToNew' }, next: { _tag: 'New' } }],
    ['and keeps its place before others', { ...ending, unread: [6] }, [bobWaits], { keeps: false, returns: { _tag: 'ToNew' }, next: { _tag: 'New' } }],
    ['and behind those that came before it', { ...ending, unread: [8] }, [bobWaits], { keeps: false, returns: { _tag: 'ToNew' }, next: waits('bob-waits') }],
    [
      'or goes to what its author has waiting',
      { ...ending, unread: [8] },
      [bobWaits, annWaits],
      { keeps: false, returns: { _tag: 'ToWaiting', turn: 'ann-waits' }, next: waits('ann-waits') },
    ],
    [
      'which then waits since the older of both',
      { ...ending, unread: [3] },
      [{ ...bobWaits, firstInput: 4 }, annWaits],
      { keeps: false, returns: { _tag: 'ToWaiting', turn: 'ann-waits' }, next: waits('ann-waits') },
    ],
    ['a turn that never began keeps its inputs', { ...ending, began: false, unread: [6] }, [bobWaits], { keeps: true, returns: nothing, next: waits('bob-waits') }],
    [
      'one that ends while it waits changes nothing for the others',
      { ...ending, began: false, advanced: false, unread: [6] },
      [bobWaits],
      { keeps: true, returns: nothing, next: none },
    ],
  ])('%s', (_, turn, waiting, expected) => {
    expect(afterTurn(turn, waiting)).toEqual(expected);
  });
});

/** A whole chat in memory, moved by the rules alone. */
class Chat {
  private number = 0;
  private turns = 0;
  advancing: { id: string; author: Author; began: boolean; stopping: boolean; unread: { number: number; queue: boolean }[]; read: { number: number; queue: boolean }[] } | null =
    null;
  waiting: NonNullable<Chat['advancing']>[] = [];
  ended: NonNullable<Chat['advancing']>[] = [];

  private get places(): WaitingTurn[] {
    return this.waiting.map(({ id, author, unread }) => ({ id, author, firstInput: Math.min(...unread.map(({ number }) => number)) }));
  }

  send(author: Author, queue: boolean): void {
    const input = { number: (this.number += 1), queue };
    const place = placeInput({ advancing: this.advancing, waiting: this.places }, { author, queue });
    if (place._tag === 'StartsTurn') {
      const turn = { id: `t${(this.turns += 1)}`, author, began: false, stopping: false, unread: [input], read: [] };
      if (place.advances) this.advancing = turn;
      else this.waiting.push(turn);
      return;
    }
    [this.advancing, ...this.waiting].find((turn) => turn?.id === place.turn)!.unread.push(input);
  }

  step(): void {
    if (!this.advancing) return;
    this.advancing.began = true;
    this.advancing.read.push(...this.advancing.unread.splice(0));
  }

  stop(): void {
    if (this.advancing) this.advancing.stopping = true;
  }

  end(): void {
    const turn = this.advancing;
    if (!turn) return;
    turn.unread.sort((a, b) => a.number - b.number);
    const after = afterTurn({ ...turn, advanced: true, unread: turn.unread.map(({ number }) => number) }, this.places);
    if (after.keeps) turn.read.push(...turn.unread.splice(0));
    const returned = turn.unread.splice(0);
    const made = after.returns._tag === 'ToNew' ? { id: `t${(this.turns += 1)}`, author: turn.author, began: false, stopping: false, unread: returned, read: [] } : null;
    if (made) this.waiting.push(made);
    const { returns, next } = after;
    if (returns._tag === 'ToWaiting') this.waiting.find(({ id }) => id === returns.turn)!.unread.push(...returned);
    this.ended.push(turn);
    const advancing = next._tag === 'New' ? made : next._tag === 'Waiting' ? this.waiting.find(({ id }) => id === next.turn)! : null;
    this.waiting = this.waiting.filter((waits) => waits !== advancing);
    this.advancing = advancing;
    if (advancing) advancing.unread.sort((a, b) => a.number - b.number);
  }
}

test('every input is read in exactly one turn, in its author’s order but for steers that overtake queue: true', () => {
  const authors = [ann, annPhone, bob];
  const action = fc.oneof(
    fc.record({ do: fc.constant('send' as const), author: fc.constantFrom(...authors), queue: fc.boolean() }),
    fc.record({ do: fc.constantFrom('step' as const, 'end' as const, 'stop' as const) }),
  );
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const chat = new Chat();
      let sent = 0;
      for (const next of actions) {
        if (next.do === 'send') {
          chat.send(next.author, next.queue);
          sent += 1;
        } else chat[next.do]();
      }
      for (let left = 0; chat.advancing && left < 1_000; left += 1) {
        chat.step();
        chat.end();
      }
      expect(chat.waiting).toEqual([]);
      const read = chat.ended.flatMap(({ author, read }) => read.map((input) => ({ author, ...input })));
      expect(read.map(({ number }) => number).sort((a, b) => a - b)).toEqual(Array.from({ length: sent }, (_, index) => index + 1));
      for (const author of authors) {
        const own = read.filter((input) => input.author === author);
        own.forEach((input, at) => {
          const overtaken = own.slice(at + 1).filter(({ number }) => number < input.number);
          expect(overtaken.every(({ queue }) => queue)).toBe(true);
        });
      }
    }),
    { numRuns: 500 },
  );
});
