import type { AuditAction } from '@domain/audit/actions.js';

/**
 * What each state-changing operation tells the audit log, or why it tells nothing. `shownBy`: its good request needs a state that this world does not
 * have, so that the test named here shows it. A new operation gets its line here.
 */
export type AuditedRoute = { readonly tells: readonly AuditAction[]; readonly shownBy?: string } | { readonly nothing: string };

const conversation = 'What people and bots say and do in a chat is content, and stands in the chat and in the log of its work.';

export const auditedRoutes: Readonly<Record<string, AuditedRoute>> = {
  renameOrganization: { tells: ['organization.renamed'] },
  changeMember: { tells: ['member.renamed', 'member.role_changed'] },
  removeMember: { tells: ['member.removed'] },
  createInvitation: { tells: ['invitation.created'] },
  renewInvitation: { tells: ['invitation.renewed'] },
  revokeInvitation: { tells: ['invitation.revoked'] },
  lookAtInvitation: { nothing: 'It changes nothing.' },
  acceptInvitation: { tells: ['invitation.accepted', 'member.created', 'password.set', 'session.started'] },
  createServiceAccount: { tells: ['member.created'] },
  createServiceAccountToken: { tells: ['token.created'] },
  rotateServiceAccountToken: { tells: ['token.rotated'] },
  revokeServiceAccountToken: { tells: ['token.revoked'] },
  createProject: { tells: ['project.created'] },
  renameProject: { tells: ['project.renamed'] },
  deleteProject: { tells: ['project.purge_requested'], shownBy: 'test/integration/audit/audit.spec.ts' },
  setProjectMembers: { tells: ['project.role_set'] },
  createToken: { tells: ['token.created'] },
  rotateToken: { tells: ['token.rotated'] },
  revokeToken: { tells: ['token.revoked'] },
  createApiKey: { tells: ['key.created'] },
  rotateApiKey: { tells: ['key.rotated'] },
  revokeApiKey: { tells: ['key.revoked'] },
  createModelConnection: { tells: ['connection.created'] },
  changeModelConnection: { tells: ['connection.changed', 'connection.secret_replaced'] },
  deleteModelConnection: { tells: ['connection.deleted'] },
  createIdentityProvider: { tells: ['identity_provider.created'] },
  changeIdentityProvider: { tells: ['identity_provider.changed'] },
  deleteIdentityProvider: { tells: ['identity_provider.deleted', 'domain.released'] },
  claimDomain: { tells: ['domain.claimed'] },
  verifyDomain: { tells: ['domain.verified'], shownBy: 'test/integration/identity-providers/domains.spec.ts' },
  releaseDomain: { tells: ['domain.released'] },
  listSignInOptions: { nothing: 'It changes nothing.' },
  createBot: { tells: ['bot.created'] },
  changeBot: { tells: ['bot.changed'] },
  setBotGrants: { tells: ['bot.grant_set'] },
  deleteBot: { tells: ['bot.deleted'] },
  decideExecutionCall: { tells: ['execution.decided'], shownBy: 'test/integration/executions/executions.spec.ts' },
  sendBotMessage: { nothing: conversation },
  sendChatMessage: { nothing: conversation },
  interruptChat: { nothing: conversation },
  replaceTodos: { nothing: conversation },
  cancelExecution: { nothing: 'Everybody stops their own work alone, and its log says so.' },
  signIn: { tells: ['session.started'] },
  setUpAccount: { tells: ['setup.completed', 'password.set', 'member.renamed', 'session.started'] },
  changePassword: { tells: ['password.set', 'session.revoked'] },
  allowPassword: { tells: ['password_sign_in.denied'] },
  signOut: { tells: ['session.ended'], shownBy: 'test/integration/sign-in/sessions.spec.ts' },
  endSession: { tells: ['session.revoked'], shownBy: 'test/integration/sign-in/sessions.spec.ts' },
  endOtherSessions: { tells: ['session.revoked'], shownBy: 'test/integration/sign-in/sessions.spec.ts' },
  endMemberSessions: { tells: ['session.revoked'], shownBy: 'test/integration/sign-in/sessions.spec.ts' },
  changeSettings: { nothing: 'A default bot gives nobody a right.' },
};
