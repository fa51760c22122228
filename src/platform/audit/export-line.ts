import type { ActorKind, AuditEntry, AuditOutcome, Scalar } from '@domain/audit/entry.js';
import type { ChainHead } from '@domain/audit/verify.js';
import type { IdKind } from '@domain/ids.js';
import { fromPublicId, readPublicId, toPublicId } from '@platform/ids/typeid.js';
import { toAuditEntryView, type AuditEntryView } from './audit-view.js';

/** A line of an export: an entry, whose it is, and the hash before its own. */
export type ExportLine = AuditEntryView & { readonly organization: string; readonly previous: string };
/** The last line: where the chain ended when it was written. */
export type ExportHead = { readonly organization: string; readonly project: string | null; readonly length: number; readonly head: string };

export const toExportLine = (entry: AuditEntry, previous: string): ExportLine => ({
  organization: toPublicId('organization', entry.organizationId),
  ...toAuditEntryView(entry),
  previous,
});

export const toExportHead = (organizationId: string, projectId: string | null, { length, hash }: ChainHead): ExportHead => ({
  organization: toPublicId('organization', organizationId),
  project: projectId && toPublicId('project', projectId),
  length,
  head: hash,
});

/** `chain`: the public id of the project or organization whose chain it is of. */
export type ReadLine = { readonly chain: string } & (
  { readonly kind: 'entry'; readonly entry: AuditEntry; readonly previous: string } | { readonly kind: 'head'; readonly head: ChainHead }
);

/** What a line of a file says it is; null: it is no line of an export. Whether it is true, its hash tells. */
export function readExportLine(text: string): ReadLine | null {
  try {
    const line = JSON.parse(text) as ExportLine | ExportHead;
    const chain = line.project ?? line.organization;
    if ('head' in line) return { kind: 'head', chain, head: { length: line.length, hash: line.head } };
    return { kind: 'entry', chain, entry: toEntry(line), previous: line.previous };
  } catch {
    return null;
  }
}

function toEntry({ organization, actor, target, ...line }: ExportLine): AuditEntry {
  const credential = named(actor.credential);
  const about = named(target);
  return {
    organizationId: uuidOf('organization', organization)!,
    projectId: uuidOf('project', line.project),
    sequence: line.sequence,
    id: uuidOf('audit', line.id)!,
    at: line.at,
    action: line.action,
    outcome: line.outcome satisfies AuditOutcome,
    actorKind: actor.kind satisfies ActorKind,
    memberId: uuidOf('member', actor.member),
    credentialKind: credential.kind,
    credentialId: credential.uuid,
    onBehalfOf: uuidOf('member', actor.onBehalfOf),
    service: actor.service,
    targetKind: about.kind,
    targetId: about.uuid,
    address: line.address,
    detail: line.detail satisfies Readonly<Record<string, Scalar>>,
    hash: line.hash,
  };
}

function uuidOf(kind: IdKind, text: string | null): string | null {
  const uuid = text === null ? null : fromPublicId(kind, text);
  if (text !== null && uuid === null) throw new TypeError('a public id that is none');
  return uuid;
}

function named(text: string | null): { readonly kind: IdKind | null; readonly uuid: string | null } {
  if (text === null) return { kind: null, uuid: null };
  const found = readPublicId(text);
  if (!found) throw new TypeError('a public id that is none');
  return found;
}
