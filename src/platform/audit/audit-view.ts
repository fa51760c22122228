import { createHash } from 'node:crypto';
import type { ActorKind, AuditEntry, AuditOutcome, Scalar } from '@domain/audit/entry.js';
import type { LinkHash } from '@domain/audit/verify.js';
import type { IdKind } from '@domain/ids.js';
import { toPublicId } from '@platform/ids/typeid.js';

/** An entry as people and programs outside see it, with public ids. It holds all that was hashed. */
export type AuditEntryView = {
  readonly sequence: number;
  readonly id: string;
  readonly at: number;
  readonly action: string;
  readonly outcome: AuditOutcome;
  readonly actor: {
    readonly kind: ActorKind;
    readonly member: string | null;
    readonly credential: string | null;
    readonly onBehalfOf: string | null;
    readonly service: string | null;
  };
  readonly target: string | null;
  readonly project: string | null;
  readonly address: string | null;
  readonly detail: Readonly<Record<string, Scalar>>;
  readonly hash: string;
};

const shown = (kind: IdKind | null, uuid: string | null): string | null => (kind === null || uuid === null ? null : toPublicId(kind, uuid));

export const toAuditEntryView = (entry: AuditEntry): AuditEntryView => ({
  sequence: entry.sequence,
  id: toPublicId('audit', entry.id),
  at: entry.at,
  action: entry.action,
  outcome: entry.outcome,
  actor: {
    kind: entry.actorKind,
    member: shown('member', entry.memberId),
    credential: shown(entry.credentialKind, entry.credentialId),
    onBehalfOf: shown('member', entry.onBehalfOf),
    service: entry.service,
  },
  target: shown(entry.targetKind, entry.targetId),
  project: shown('project', entry.projectId),
  address: entry.address,
  detail: entry.detail,
  hash: entry.hash,
});

export const linkHash: LinkHash = (previous, text) => createHash('sha256').update(Buffer.from(previous, 'hex')).update(text, 'utf8').digest('hex');
