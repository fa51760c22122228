import type { MemberRole } from '@domain/organizations/member.js';

/** Every member chooses among the models; whoever answers for the organization says which there are. */
export const mayManageModels = (role: MemberRole): boolean => role === 'owner';
