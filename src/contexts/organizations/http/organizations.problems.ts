import type { Forbidden, MemberNotFound, OrganizationConflict, ServiceAccountNotFound } from '@domain/organizations/member.js';
import type { ProjectNotFound, ProjectPurgeNotFound } from '@domain/organizations/project.js';
import type { ExecutionKeyConflict } from '@domain/executions/failures.js';
import type { ProblemTable } from '@platform/http/problem.js';
import type { DeleteProjectFailure } from '../commands/delete-project.command.js';
import type { ChangeMemberFailure } from '../commands/change-member.command.js';
import type { RenameProjectFailure } from '../commands/rename-project.command.js';
import type { SetProjectMembersFailure } from '../commands/set-project-members.command.js';

const revision = { revision: 2 };

export const renameOrganizationProblems = {
  OrganizationConflict: { status: 409, message: 'The organization was changed since you read it.', example: revision },
} satisfies ProblemTable<OrganizationConflict>;

export const readMemberProblems = {
  MemberNotFound: { status: 404, message: 'The organization has no member with this ID.' },
} satisfies ProblemTable<MemberNotFound>;

export const changeMemberProblems = {
  ...readMemberProblems,
  Forbidden: { status: 403, message: 'You may not change a member who may do what you may not, nor make one.' },
  MemberRevisionConflict: { status: 409, message: 'The member was changed since you read it.', example: revision },
  OwnMembership: { status: 409, message: 'Nobody changes their own role or suspends themselves: ask somebody else.' },
  OwnerIsNoPerson: { status: 409, message: 'A service account does not become an owner: only a person answers for the organization.' },
  LastOwner: { status: 409, message: 'This is the last owner of the organization: make another one first.' },
  StoppedByDirectory: {
    status: 409,
    message: 'The directory of this identity provider stopped the member: let them in again there.',
    example: { identityProvider: 'idp_01k0w3j9v7e8t9q0c5m2x4z6b8' },
  },
} satisfies ProblemTable<ChangeMemberFailure>;

export const createProjectProblems = {
  ExecutionKeyConflict: { status: 409, message: 'This command key was used with another input.' },
} satisfies ProblemTable<ExecutionKeyConflict>;

export const readProjectProblems = {
  ProjectNotFound: { status: 404, message: 'You act in no project with this ID.' },
} satisfies ProblemTable<ProjectNotFound>;

export const renameProjectProblems = {
  ...readProjectProblems,
  ProjectConflict: { status: 409, message: 'The project was changed since you read it.', example: revision },
} satisfies ProblemTable<RenameProjectFailure>;

export const deleteProjectProblems = {
  ...createProjectProblems,
  ...renameProjectProblems,
  LastProject: { status: 409, message: 'This is the last project of the organization: create another one first.' },
  ActiveProject: {
    status: 409,
    message: 'Your requests act in this project when they name none: delete it with a credential whose `projects` name another one first, and this one too.',
  },
} satisfies ProblemTable<DeleteProjectFailure>;

export const readProjectPurgeProblems = {
  ProjectPurgeNotFound: { status: 404, message: 'The organization has deleted no project with this ID.' },
} satisfies ProblemTable<ProjectPurgeNotFound>;

export const setProjectMembersProblems = {
  ...renameProjectProblems,
  Forbidden: { status: 403, message: 'You may not give or take a role with permissions that you do not have in this project.' },
  ProjectMemberInvalid: {
    status: 400,
    message: 'A role names no member of the organization, or names one twice.',
    example: { field: 'members[0].member', member: 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8' },
  },
} satisfies ProblemTable<SetProjectMembersFailure>;

export const createServiceAccountProblems = {
  Forbidden: { status: 403, message: 'You may make no account that may do more than you may.' },
} satisfies ProblemTable<Forbidden>;

export const readServiceAccountProblems = {
  ServiceAccountNotFound: { status: 404, message: 'Your organization has no service account with this ID.' },
} satisfies ProblemTable<ServiceAccountNotFound>;
