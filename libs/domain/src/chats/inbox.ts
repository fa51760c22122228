import { fail, ok, type Result } from '../result.js';
import { takesMessages, type ChatKind, type ChatNotFound, type ChatTakesNoMessages } from './chat.js';

/** The person and the way they signed in: another token of the same person is another author. */
export type Author = { readonly memberId: string; readonly tokenId: string };
const isSame = (a: Author, b: Author): boolean => a.memberId === b.memberId && a.tokenId === b.tokenId;

/** The one turn of the chat that moves. `began`: it has read its inputs; `stopping`: a stop was asked, so it takes nothing more. */
export type AdvancingTurn = { readonly id: string; readonly author: Author; readonly began: boolean; readonly stopping: boolean };
/** A turn behind it. `firstInput` is the smallest number among its inputs: the place in the inbox at which it waits. */
export type WaitingTurn = { readonly id: string; readonly author: Author; readonly firstInput: number };

export type Inbox = { readonly advancing: AdvancingTurn | null; readonly waiting: readonly WaitingTurn[] };

/** `Steers`: read at the running turn's next model step. `Joins`: read when that turn begins. `StartsTurn`: a turn of its own, which may advance at once or waits. */
export type Placement =
  { readonly _tag: 'Steers'; readonly turn: string } | { readonly _tag: 'Joins'; readonly turn: string } | { readonly _tag: 'StartsTurn'; readonly advances: boolean };

export type NewInput = { readonly author: Author; readonly queue: boolean };

/** Which turn an input goes to. An author has at most one waiting turn: everything of theirs that waits is read together. */
export function placeInput({ advancing, waiting }: Inbox, input: NewInput): Placement {
  if (advancing && isSame(advancing.author, input.author) && !advancing.stopping) {
    if (!advancing.began) return { _tag: 'Joins', turn: advancing.id };
    if (!input.queue) return { _tag: 'Steers', turn: advancing.id };
  }
  const own = waiting.find(({ author }) => isSame(author, input.author));
  return own ? { _tag: 'Joins', turn: own.id } : { _tag: 'StartsTurn', advances: advancing === null };
}

export type MessagedChat = { readonly kind: ChatKind; readonly isDeleted: boolean };

/** A message of a person: whether the chat takes it, and where it goes. */
export function admitMessage(chat: MessagedChat, inbox: Inbox, input: NewInput): Result<Placement, ChatNotFound | ChatTakesNoMessages> {
  if (chat.isDeleted) return fail({ _tag: 'ChatNotFound' });
  if (!takesMessages(chat.kind)) return fail({ _tag: 'ChatConflict', kind: chat.kind });
  return ok(placeInput(inbox, input));
}

/** What is left of a turn that ends. `unread`: numbers of its inputs that no model step took, in order. */
export type EndingTurn = { readonly author: Author; readonly began: boolean; readonly advanced: boolean; readonly unread: readonly number[] };

/**
 * `keeps`: the turn never began, so the inputs that it was made for end with it: an interrupt that comes early stops the same work as one that
 * comes late. `returns`: unread steers go to the author's waiting turn, or to a new one. `next` advances now; `new` is the turn made for the returned.
 */
export type AfterTurn = {
  readonly keeps: boolean;
  readonly returns: { readonly _tag: 'Nothing' } | { readonly _tag: 'ToWaiting'; readonly turn: string } | { readonly _tag: 'ToNew' };
  readonly next: { readonly _tag: 'None' } | { readonly _tag: 'Waiting'; readonly turn: string } | { readonly _tag: 'New' };
};

export function afterTurn(ending: EndingTurn, waiting: readonly WaitingTurn[]): AfterTurn {
  const returned = ending.began ? ending.unread[0] : undefined;
  const target = returned === undefined ? undefined : waiting.find(({ author }) => isSame(author, ending.author));
  const returns: AfterTurn['returns'] = returned === undefined ? { _tag: 'Nothing' } : target ? { _tag: 'ToWaiting', turn: target.id } : { _tag: 'ToNew' };
  return { keeps: !ending.began, returns, next: ending.advanced ? nextTurn(waiting, target, returned) : { _tag: 'None' } };
}

/** The turn that has waited longest: by its first input, the returned ones included. They keep their numbers. */
function nextTurn(waiting: readonly WaitingTurn[], target: WaitingTurn | undefined, returned: number | undefined): AfterTurn['next'] {
  const place = (turn: WaitingTurn): number => (turn === target && returned !== undefined ? Math.min(turn.firstInput, returned) : turn.firstInput);
  const [first] = [...waiting].sort((a, b) => place(a) - place(b));
  if (returned !== undefined && !target && (!first || returned < place(first))) return { _tag: 'New' };
  return first ? { _tag: 'Waiting', turn: first.id } : { _tag: 'None' };
}
