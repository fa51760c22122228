import type { AuditEntry } from './entry.js';

/** The version of this form; it is hashed with the rest. */
const version = 1;

/** In the order of the values of their bytes: names of fields are ASCII. */
const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1);

/** As PostgreSQL writes a jsonb array: a space behind each comma, strings escaped as JSON.stringify does. */
const write = (value: unknown): string => (Array.isArray(value) ? `[${value.map(write).join(', ')}]` : JSON.stringify(value));

/**
 * What is hashed of an entry: its UTF-8 bytes follow the 32 bytes of the hash before. `audit_text` in the database writes the same text of the same
 * content; whoever verifies writes it anew from what they read.
 */
export const canonicalText = (entry: Omit<AuditEntry, 'hash'>): string =>
  write([
    version,
    entry.organizationId,
    entry.projectId,
    entry.sequence,
    entry.id,
    entry.at,
    entry.action,
    entry.outcome,
    entry.actorKind,
    entry.memberId,
    entry.credentialKind,
    entry.credentialId,
    entry.onBehalfOf,
    entry.service,
    entry.targetKind,
    entry.targetId,
    entry.address,
    Object.entries(entry.detail).sort(byName),
  ]);
