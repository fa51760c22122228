import type { AuditEvent } from '@domain/audit/entry.js';
import type { EndedCredential } from '@contexts/organizations/public/stop-work.command.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { CredentialsOf } from '../queries/credential-lists.js';
import type { WantedCredential } from './store-credential.js';

/** What the audit log tells of a credential: what it may do and where, never a part of its secret. */
export function createdEvent(of: CredentialsOf, target: string, { scopes, projects, expiresInMs }: WantedCredential): AuditEvent {
  const detail = { scopes, projects: projects && projects.length, expiresInMs };
  return of.kind === 'api_key' ? { action: 'key.created', target, detail } : { action: 'token.created', target, detail: { ...detail, member: toPublicId('member', of.memberId) } };
}

export const rotatedEvent = (of: CredentialsOf, target: string, overlapMs: number): AuditEvent =>
  of.kind === 'api_key'
    ? { action: 'key.rotated', target, detail: { overlapMs } }
    : { action: 'token.rotated', target, detail: { overlapMs, member: toPublicId('member', of.memberId) } };

export const revokedEvent = ({ id: target, memberId }: EndedCredential): AuditEvent =>
  memberId === null ? { action: 'key.revoked', target, detail: {} } : { action: 'token.revoked', target, detail: { member: toPublicId('member', memberId) } };
