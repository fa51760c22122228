import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { IsEmail, IsIn, IsOptional, ValidateIf } from 'class-validator';
import { organizationRoleNames, type OrganizationRole } from '@domain/access/roles.js';
import { nameLimit } from '@domain/organizations/member.js';
import { Characters } from '@platform/http/characters.js';
import { PageOf, PageQuery } from '@platform/http/paging.js';
import { IsPublicId } from '@platform/http/public-id.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { CreatedMember } from '../commands/create-member.command.js';
import type { Member } from '../public/member.queries.js';
import type { OrganizationRow, ProjectRow } from '../queries/organization.js';

export class OrganizationView {
  @ApiProperty({ example: 'org_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ example: 'Example Ltd' }) name: string;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) createdAt: number;
}
export const toOrganizationView = ({ id, name, created_at }: OrganizationRow): OrganizationView => ({ id: toPublicId('organization', id), name, createdAt: created_at.getTime() });

export class ProjectView {
  @ApiProperty({ example: 'proj_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ example: 'Default' }) name: string;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) createdAt: number;
}
export const toProjectView = ({ id, name, created_at }: ProjectRow): ProjectView => ({ id: toPublicId('project', id), name, createdAt: created_at.getTime() });
export class ProjectPage extends PageOf(ProjectView) {}

export class MemberView {
  @ApiProperty({ example: 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ example: 'Ada' }) name: string;
  @ApiProperty({ type: String, nullable: true, example: 'ada@example.com' }) email: string | null;
  @ApiProperty({ enum: organizationRoleNames }) role: OrganizationRole;
  @ApiProperty({ description: 'A suspended member keeps everything and may do nothing.' }) suspended: boolean;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) createdAt: number;
}
export const toMemberView = ({ id, createdAt, ...member }: Member): MemberView => ({ id: toPublicId('member', id), ...member, createdAt: createdAt.getTime() });
export class MemberPage extends PageOf(MemberView) {}

export class CreatedMemberView extends MemberView {
  @ApiProperty({ description: "The member's first token. It is shown this once: hand it over." }) token: string;
}
export const toCreatedMemberView = ({ member, token }: CreatedMember): CreatedMemberView => ({ ...toMemberView(member), token: token.token });

export class CreateMemberBody {
  @ApiProperty({ example: 'Ada', minLength: 1, maxLength: nameLimit })
  @Characters(1, nameLimit)
  name: string;

  @ApiPropertyOptional({ type: String, nullable: true, format: 'email', maxLength: 254, example: 'ada@example.com', description: 'At most one member of the organization has it.' })
  @IsOptional()
  @IsEmail()
  @Characters(3, 254)
  email?: string | null;

  @ApiPropertyOptional({ enum: organizationRoleNames, default: 'member' })
  @ValidateIf((body: CreateMemberBody) => body.role !== undefined)
  @IsIn(organizationRoleNames)
  role?: OrganizationRole;
}

export class ProjectsQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsPublicId('project')
  after?: string;
}

export class MembersQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsPublicId('member')
  after?: string;
}
