import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsIn, IsOptional, IsString, ValidateNested } from 'class-validator';
import { projectRoleNames, type ProjectRole } from '@domain/access/roles.js';
import { nameLimit } from '@domain/organizations/member.js';
import { projectMembersLimit } from '@domain/organizations/project.js';
import { Characters } from '@platform/http/characters.js';
import { PageOf, PageQuery } from '@platform/http/paging.js';
import { IsPublicId } from '@platform/http/public-id.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { ProjectReceipt } from '../commands/create-project.command.js';
import type { DeleteProjectReceipt } from '../commands/delete-project.command.js';
import type { ProjectRow } from '../queries/organization.js';
import type { ProjectMembers } from '../queries/project-roles.js';
import { Expected } from './organizations.dto.js';

export class ProjectReceiptView {
  @ApiProperty({ example: 'proj_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ type: 'integer', example: 1 }) revision: number;
}
export const toProjectReceiptView = ({ projectId, revision }: ProjectReceipt): ProjectReceiptView => ({ id: toPublicId('project', projectId), revision });

export class DeleteProjectReceiptView {
  @ApiProperty({ example: 'exec_01k0w3j9v7e8t9q0c5m2x4z6b8', description: 'The stored work that removes the project. It is the organization’s: no member observes it.' })
  executionId: string;
  @ApiProperty({ type: String, nullable: true, example: 'delete-1' }) commandKey: string | null;
  @ApiProperty({ type: 'integer', example: 1 }) sequence: number;
  @ApiProperty({ example: 'purge_01k0w3j9v7e8t9q0c5m2x4z6b8', description: 'Says how far it is, and stays as the receipt.' }) purge: string;
}
export const toDeleteProjectReceiptView = ({ executionId, projectId, sequence }: DeleteProjectReceipt, commandKey: string | null): DeleteProjectReceiptView => ({
  executionId: toPublicId('execution', executionId),
  commandKey,
  sequence,
  purge: toPublicId('purge', projectId),
});

export class ProjectView extends ProjectReceiptView {
  @ApiProperty({ example: 'Default' }) name: string;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) createdAt: number;
}
export const toProjectView = ({ id, name, revision, created_at }: ProjectRow): ProjectView => ({ id: toPublicId('project', id), revision, name, createdAt: created_at.getTime() });
export class ProjectPage extends PageOf(ProjectView) {}

export class CreateProjectBody {
  @ApiProperty({ example: 'Research', minLength: 1, maxLength: nameLimit })
  @Characters(1, nameLimit)
  name: string;
}

export class ProjectMemberBody {
  @ApiProperty({ example: 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8' })
  @IsString()
  member: string;

  @ApiProperty({ enum: projectRoleNames })
  @IsIn(projectRoleNames)
  role: ProjectRole;
}

export class SetProjectMembersBody extends Expected {
  @ApiProperty({ type: [ProjectMemberBody], maxItems: projectMembersLimit, description: 'All roles in the project: who is not here has what they are in the organization.' })
  @IsArray()
  @ArrayMaxSize(projectMembersLimit)
  @ValidateNested({ each: true })
  @Type(() => ProjectMemberBody)
  members: ProjectMemberBody[];
}

export class ProjectMemberView {
  @ApiProperty({ example: 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8' }) member: string;
  @ApiProperty({ enum: projectRoleNames }) role: ProjectRole;
}

export class ProjectMembersView {
  @ApiProperty({ type: 'integer', description: 'The revision of the project.' }) revision: number;
  @ApiProperty({ type: [ProjectMemberView] }) members: ProjectMemberView[];
}
export const toProjectMembersView = ({ revision, members }: ProjectMembers): ProjectMembersView => ({
  revision,
  members: members.map(({ memberId, role }) => ({ member: toPublicId('member', memberId), role })),
});

export class ProjectsQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsPublicId('project')
  after?: string;
}
