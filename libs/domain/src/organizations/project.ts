/** Members with a role of their own in one project. */
export const projectMembersLimit = 500;

export type ProjectNotFound = { readonly _tag: 'ProjectNotFound' };
/** `revision` is the one to read and send again. */
export type ProjectConflict = { readonly _tag: 'ProjectConflict'; readonly revision: number };
/** An organization always has a project. */
export type LastProject = { readonly _tag: 'LastProject' };
/** Nobody deletes the project in which their own requests act that name none. */
export type ActiveProject = { readonly _tag: 'ActiveProject' };
export type ProjectPurgeNotFound = { readonly _tag: 'ProjectPurgeNotFound' };
/** `member` is the public id that names nobody of this organization, or names one twice; `field` is where it stands. */
export type ProjectMemberInvalid = { readonly _tag: 'ProjectMemberInvalid'; readonly field: string; readonly member: string };
