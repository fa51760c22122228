import type { CredentialKind } from '../access/credentials.js';
import type { IdKind } from '../ids.js';
import { auditActions, type AuditAction, type AuditDetail, type DetailKind } from './actions.js';

export type AuditOutcome = 'done' | 'refused';
export type Scalar = string | number | boolean | null;
export type ActorKind = 'member' | 'service' | 'operator' | 'nobody';

/** Who acts where no request with an identity does. `onBehalfOf`: the member for whom. `address`: the network address that the request came from. */
export type AuditActor =
  | { readonly kind: 'member'; readonly memberId: string; readonly credential: { readonly kind: CredentialKind; readonly id: string } | null; readonly address: string | null }
  | { readonly kind: 'service'; readonly service: string; readonly onBehalfOf?: string }
  | { readonly kind: 'operator' }
  | { readonly kind: 'nobody'; readonly address: string | null };

/** One thing that happened, as it is told: the change itself, or the attempt that was refused. */
export type AuditEvent<A extends AuditAction = AuditAction> = A extends AuditAction
  ? {
      readonly action: A;
      /** A UUID; its kind is the action's. `null` where it is not known: a sign-in of nobody. */
      readonly target: string | null;
      readonly detail: AuditDetail<A>;
      readonly outcome?: AuditOutcome;
      /** For the chain of this project, where it is not the one of the transaction. */
      readonly projectId?: string;
      /** For what may be told again by a replay: with the same id it is one entry. */
      readonly id?: string;
    }
  : never;

/** A linked entry, with UUIDs. `at`: milliseconds since the epoch, by the database's clock. `hash`: hexadecimal. */
export type AuditEntry = {
  readonly organizationId: string;
  readonly projectId: string | null;
  readonly sequence: number;
  readonly id: string;
  readonly at: number;
  readonly action: string;
  readonly outcome: AuditOutcome;
  readonly actorKind: ActorKind;
  readonly memberId: string | null;
  readonly credentialKind: IdKind | null;
  readonly credentialId: string | null;
  readonly onBehalfOf: string | null;
  readonly service: string | null;
  readonly targetKind: IdKind | null;
  readonly targetId: string | null;
  readonly address: string | null;
  readonly detail: Readonly<Record<string, Scalar>>;
  readonly hash: string;
};

const forms: Readonly<Record<DetailKind, (value: unknown) => Scalar | undefined>> = {
  id: (value) => (typeof value === 'string' && /^[a-z]{2,12}_[0-9a-z]{26}$/.test(value) ? value : undefined),
  name: (value) => (isName(value) ? value : undefined),
  names: (value) => (Array.isArray(value) && value.every(isName) ? value.join(' ') : undefined),
  count: (value) => (Number.isSafeInteger(value) ? (value as number) : undefined),
  flag: (value) => (typeof value === 'boolean' ? value : undefined),
  hash: (value) => (typeof value === 'string' && /^[0-9a-f]{64}$/.test(value) ? value : undefined),
};
const isName = (value: unknown): value is string => typeof value === 'string' && /^[A-Za-z][A-Za-z0-9._-]{0,63}$/.test(value);

/**
 * What is stored of a detail: the fields of the catalogue, each in its form, and no other. Throws a TypeError that names the field and not its value: a
 * caller that says more is a fault of ours, and must not reach the log.
 */
export function toStoredDetail(action: AuditAction, detail: Readonly<Record<string, unknown>>): Record<string, Scalar> {
  const fields: Readonly<Record<string, DetailKind>> = auditActions[action].detail;
  const surplus = Object.keys(detail).find((name) => !Object.hasOwn(fields, name));
  if (surplus !== undefined) throw new TypeError(`an entry ${action} has no field ${surplus}`);
  return Object.fromEntries(
    Object.entries(fields).map(([name, kind]) => {
      const value = detail[name] === null ? null : forms[kind](detail[name]);
      if (value === undefined) throw new TypeError(`the field ${name} of an entry ${action} is no ${kind}`);
      return [name, value];
    }),
  );
}
