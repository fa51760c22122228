import { permissionNames, type PermissionName } from './permissions.js';
import { within, type Rights } from './rights.js';

/** What work is held to besides the rights of who it acts for. Null limits nothing. */
export type ExecutionLimits = {
  readonly rights: readonly PermissionName[] | null;
  /** Milliseconds since the epoch. */
  readonly endsAt: number | null;
  readonly steps: number | null;
};

/**
 * Whom work acts for, and by what. Each is told apart when the work begins and stored sealed: none is ever read out of an author, an id or the order in
 * which parts of the program were asked. It holds no rights: those are what the token may at the moment of each look, within the limits.
 */
export type ExecutionIdentity = {
  /** The member whose work it is, who sees it and pays for it. */
  readonly owner: string;
  /** The member who acts: the owner, the mirror of a key, or a service account. */
  readonly actor: string;
  /** The credential that the first of this work was begun with. */
  readonly token: string;
  /** Who spoke on a platform and is linked to the owner; null: nobody but the owner. */
  readonly speaker: string | null;
  readonly bot: string | null;
  readonly delegation: string | null;
  /** The execution that began this one; null: a person or program did. */
  readonly source: string | null;
  readonly limits: ExecutionLimits;
};

export const unlimited: ExecutionLimits = { rights: null, endsAt: null, steps: null };

const least = (one: number | null, other: number | null): number | null => (one === null ? other : other === null ? one : Math.min(one, other));

/** In the catalogue's order, each once: the same limits are the same value. */
const both = (one: ExecutionLimits['rights'], other: ExecutionLimits['rights']): ExecutionLimits['rights'] =>
  one === null && other === null ? null : permissionNames.filter((name) => (one?.includes(name) ?? true) && (other?.includes(name) ?? true));

/** What holds both to: never more than either. */
export const narrowed = (one: ExecutionLimits, other: ExecutionLimits): ExecutionLimits => ({
  rights: both(one.rights, other.rights),
  endsAt: least(one.endsAt, other.endsAt),
  steps: least(one.steps, other.steps),
});

/** What a caller may say of work that it begins: for which bot and by which delegation, and limits, which only ever add to those of its source. */
export type AddedIdentity = Partial<Pick<ExecutionIdentity, 'bot' | 'delegation' | 'limits'>>;

/** The identity of work that other work begins. Owner, actor, token and speaker are the source's, whatever the caller would like. */
export const childIdentity = (source: ExecutionIdentity, sourceExecution: string, { bot, delegation, limits = unlimited }: AddedIdentity): ExecutionIdentity => ({
  owner: source.owner,
  actor: source.actor,
  token: source.token,
  speaker: source.speaker,
  bot: bot ?? source.bot,
  delegation: delegation ?? source.delegation,
  source: sourceExecution,
  limits: narrowed(source.limits, limits),
});

/** What the work may do, of what its token may do at this moment: a decision that was made before gives nothing back that was taken since. */
export const rightsWithin = (now: Rights, { rights }: ExecutionLimits): Rights => within(now, rights);
