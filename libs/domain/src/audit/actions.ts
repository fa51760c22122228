import type { IdKind } from '../ids.js';

/** What a field of an entry's detail may hold. None of them has room for what somebody wrote. */
export type DetailKind =
  /** A public id. */
  | 'id'
  /** A word of a catalogue: a role, a reason, a kind. */
  | 'name'
  /** Such words, separated by spaces. */
  | 'names'
  /** A whole number. */
  | 'count'
  | 'flag'
  /** 64 hexadecimal digits. */
  | 'hash';

export type AuditActionRule = {
  /** What it means to somebody who reads it. */
  readonly meaning: string;
  /** Whose chain tells it: what is about the inside of one project is told by that project's, and goes with it. */
  readonly chain: 'organization' | 'project';
  readonly target: IdKind | null;
  readonly detail: Readonly<Record<string, DetailKind>>;
};

/** The catalogue: everything that the audit log tells, and all that it may say of each. */
export const auditActions = {
  'organization.created': { meaning: 'An organization was made', chain: 'organization', target: 'organization', detail: {} },
  'organization.renamed': { meaning: 'The organization got another name', chain: 'organization', target: 'organization', detail: { revision: 'count' } },

  'project.created': { meaning: 'A project was made', chain: 'organization', target: 'project', detail: {} },
  'project.renamed': { meaning: 'The project got another name', chain: 'project', target: 'project', detail: { revision: 'count' } },
  'project.role_set': { meaning: 'A member got a role in the project', chain: 'project', target: 'member', detail: { role: 'name', before: 'name' } },
  'project.role_removed': { meaning: 'A member lost the role in the project', chain: 'project', target: 'member', detail: { before: 'name' } },
  'project.purge_requested': { meaning: 'The deletion of a project was asked for', chain: 'organization', target: 'project', detail: {} },
  'project.purged': {
    meaning: 'A project is gone; how long its chain was, and its last hash',
    chain: 'organization',
    target: 'project',
    detail: { length: 'count', hash: 'hash' },
  },

  'member.created': { meaning: 'A person or service account was made a member', chain: 'organization', target: 'member', detail: { kind: 'name', role: 'name' } },
  'member.renamed': { meaning: 'A member got another name', chain: 'organization', target: 'member', detail: {} },
  'member.role_changed': { meaning: 'A member got another role', chain: 'organization', target: 'member', detail: { role: 'name', before: 'name' } },
  'member.suspended': { meaning: 'A member may do nothing any more', chain: 'organization', target: 'member', detail: {} },
  'member.restored': { meaning: 'A suspended member may act again', chain: 'organization', target: 'member', detail: {} },
  'member.stopped': { meaning: 'The directory says that a member is gone: they may do nothing any more', chain: 'organization', target: 'member', detail: { provider: 'id' } },
  'member.reactivated': { meaning: 'The directory says that a member is back', chain: 'organization', target: 'member', detail: { provider: 'id' } },
  'member.removed': { meaning: 'A member left the organization, with every credential', chain: 'organization', target: 'member', detail: { role: 'name' } },

  'invitation.created': {
    meaning: 'Somebody was invited',
    chain: 'organization',
    target: 'invitation',
    detail: { role: 'name', projects: 'count', passwordSignIn: 'flag', expiresInMs: 'count' },
  },
  'invitation.renewed': { meaning: 'An invitation got a new link', chain: 'organization', target: 'invitation', detail: { expiresInMs: 'count' } },
  'invitation.accepted': { meaning: 'An invitation was taken, and made a member', chain: 'organization', target: 'invitation', detail: { member: 'id' } },
  'invitation.revoked': { meaning: 'An invitation counts no more', chain: 'organization', target: 'invitation', detail: {} },

  'token.created': {
    meaning: 'A token was made for a person or service account',
    chain: 'organization',
    target: 'token',
    detail: { member: 'id', scopes: 'names', projects: 'count', expiresInMs: 'count' },
  },
  'token.rotated': { meaning: 'A token got a new secret', chain: 'organization', target: 'token', detail: { member: 'id', overlapMs: 'count' } },
  'token.revoked': { meaning: 'A token counts no more', chain: 'organization', target: 'token', detail: { member: 'id' } },
  'key.created': { meaning: 'An API key was made', chain: 'organization', target: 'apiKey', detail: { scopes: 'names', projects: 'count', expiresInMs: 'count' } },
  'key.rotated': { meaning: 'An API key got a new secret', chain: 'organization', target: 'apiKey', detail: { overlapMs: 'count' } },
  'key.revoked': { meaning: 'An API key counts no more', chain: 'organization', target: 'apiKey', detail: {} },
  'key.mirrored': { meaning: 'An API key acted in the project for the first time', chain: 'project', target: 'apiKey', detail: { member: 'id' } },

  'session.started': { meaning: 'Somebody signed in', chain: 'organization', target: 'session', detail: { method: 'name' } },
  'session.ended': { meaning: 'Somebody signed out', chain: 'organization', target: 'session', detail: {} },
  'session.revoked': { meaning: 'A session was ended before its time', chain: 'organization', target: 'session', detail: { member: 'id', reason: 'name' } },
  'sign_in.failed': { meaning: 'A sign-in was refused', chain: 'organization', target: 'member', detail: { method: 'name', reason: 'name' } },
  'sign_in.locked': { meaning: 'Sign-ins were put off after too many', chain: 'organization', target: 'member', detail: { method: 'name', retryAfterMs: 'count' } },
  'password.set': { meaning: 'A member got another password', chain: 'organization', target: 'member', detail: {} },
  'password_sign_in.allowed': { meaning: 'A member may sign in by password', chain: 'organization', target: 'member', detail: {} },
  'password_sign_in.denied': { meaning: 'A member may not sign in by password any more', chain: 'organization', target: 'member', detail: {} },
  'setup.link_created': { meaning: 'An operator made a link by which an owner enters', chain: 'organization', target: 'member', detail: { expiresInMs: 'count' } },
  'setup.completed': { meaning: 'An owner entered by such a link', chain: 'organization', target: 'member', detail: {} },

  'identity_provider.created': { meaning: 'An identity provider was connected', chain: 'organization', target: 'identityProvider', detail: { kind: 'name', secret: 'flag' } },
  'identity_provider.changed': { meaning: 'An identity provider was changed', chain: 'organization', target: 'identityProvider', detail: { fields: 'names', revision: 'count' } },
  'identity_provider.deleted': { meaning: 'An identity provider was disconnected', chain: 'organization', target: 'identityProvider', detail: {} },
  'domain.claimed': { meaning: 'A domain was said to be the organization’s', chain: 'organization', target: 'domain', detail: { provider: 'id' } },
  'domain.verified': { meaning: 'A domain was shown to be the organization’s', chain: 'organization', target: 'domain', detail: { by: 'name' } },
  'domain.released': { meaning: 'A domain is not the organization’s any more', chain: 'organization', target: 'domain', detail: {} },
  'identity.linked': { meaning: 'A member signs in by an identity provider from now on', chain: 'organization', target: 'member', detail: { provider: 'id' } },
  'identity.unlinked': { meaning: 'A member signs in by an identity provider no more', chain: 'organization', target: 'member', detail: { provider: 'id' } },

  'scim_token.created': { meaning: 'A token for a directory was made', chain: 'organization', target: 'scimToken', detail: { provider: 'id', expiresInMs: 'count' } },
  'scim_token.deleted': { meaning: 'A token for a directory counts no more', chain: 'organization', target: 'scimToken', detail: { provider: 'id' } },
  'directory_user.created': { meaning: 'A directory told of a person', chain: 'organization', target: 'directoryUser', detail: { member: 'id', token: 'id' } },
  'directory_user.changed': { meaning: 'A directory changed what it says of a person', chain: 'organization', target: 'directoryUser', detail: { active: 'flag', token: 'id' } },
  'directory_user.deleted': { meaning: 'A directory forgot a person', chain: 'organization', target: 'directoryUser', detail: { member: 'id', token: 'id' } },
  'directory_group.created': { meaning: 'A directory told of a group', chain: 'organization', target: 'directoryGroup', detail: { members: 'count', token: 'id' } },
  'directory_group.changed': { meaning: 'A directory changed a group', chain: 'organization', target: 'directoryGroup', detail: { added: 'count', removed: 'count', token: 'id' } },
  'directory_group.deleted': { meaning: 'A directory forgot a group', chain: 'organization', target: 'directoryGroup', detail: { members: 'count', token: 'id' } },

  'bot.created': { meaning: 'A bot was made', chain: 'project', target: 'bot', detail: {} },
  'bot.changed': { meaning: 'A bot was changed', chain: 'project', target: 'bot', detail: { fields: 'names', revision: 'count' } },
  'bot.deleted': { meaning: 'A bot was deleted with its grants', chain: 'project', target: 'bot', detail: {} },
  'bot.grant_set': { meaning: 'A member got rights over a bot', chain: 'project', target: 'bot', detail: { member: 'id', rights: 'names', before: 'names' } },
  'bot.grant_removed': { meaning: 'A member lost all rights over a bot', chain: 'project', target: 'bot', detail: { member: 'id', before: 'names' } },

  'connection.created': { meaning: 'A model provider was connected', chain: 'organization', target: 'connection', detail: { kind: 'name', key: 'flag' } },
  'connection.changed': { meaning: 'A connection was changed', chain: 'organization', target: 'connection', detail: { fields: 'names', revision: 'count' } },
  'connection.secret_replaced': { meaning: 'The key of a connection was replaced', chain: 'organization', target: 'connection', detail: { revision: 'count' } },
  'connection.secret_removed': { meaning: 'The key of a connection was forgotten', chain: 'organization', target: 'connection', detail: { revision: 'count' } },
  'connection.deleted': { meaning: 'A connection was deleted with its key', chain: 'organization', target: 'connection', detail: {} },
  'secret.used': { meaning: 'Work opened the key of a connection', chain: 'project', target: 'connection', detail: { execution: 'id', revision: 'count' } },

  'execution.decided': {
    meaning: 'Somebody settled a call whose outcome is unknown',
    chain: 'project',
    target: 'execution',
    detail: { step: 'count', attempt: 'count', decision: 'name' },
  },
  'lease.released': { meaning: 'An operator found that a held thing is gone', chain: 'project', target: 'lease', detail: {} },
} as const satisfies Readonly<Record<`${string}.${string}`, AuditActionRule>>;

export type AuditAction = keyof typeof auditActions;

export const auditActionNames = Object.keys(auditActions) as readonly AuditAction[];
/** What stands before the dot: `member` stands for all that happens to members. */
export const auditActionGroups = [...new Set(auditActionNames.map((name) => name.slice(0, name.indexOf('.'))))];

export const isAuditAction = (name: string): name is AuditAction => Object.hasOwn(auditActions, name);

type ValueOf<K extends DetailKind> = K extends 'count' ? number : K extends 'flag' ? boolean : K extends 'names' ? readonly string[] : string;
type RuleOf<A extends AuditAction> = (typeof auditActions)[A];

/** What an entry of this action says besides. `null`: there is none, or it is not known. */
export type AuditDetail<A extends AuditAction> = {
  readonly [F in keyof RuleOf<A>['detail']]: (RuleOf<A>['detail'][F] extends DetailKind ? ValueOf<RuleOf<A>['detail'][F]> : never) | null;
};
