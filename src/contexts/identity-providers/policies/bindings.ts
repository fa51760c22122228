import type { Binding } from '@engine/sealing.js';

/** Each opens for the row that it was given to, and for no other. */
export const secretBinding = (providerId: string): Binding => ({ table: 'identity_provider', record: providerId });
export const attemptBinding = (attemptId: string): Binding => ({ table: 'sign_in_attempt', record: attemptId });
export const sessionBinding = (sessionId: string): Binding => ({ table: 'provider_session', record: sessionId });
