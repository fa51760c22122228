/** Members with a role of their own in one project. */
export const projectMembersLimit = 500;

export type ProjectNotFound = { readonly _tag: 'ProjectNotFound' };
/** `revision` is the one to read and send again. */
export type ProjectConflict = { readonly _tag: 'ProjectConflict'; readonly revision: number };
/** `member` is the public id that names nobody of this organization, or names one twice. */
export type ProjectMemberInvalid = { readonly _tag: 'ProjectMemberInvalid'; readonly member: string };
