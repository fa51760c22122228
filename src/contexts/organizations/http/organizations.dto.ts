import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { IsBoolean, IsIn, IsInt, IsOptional, Max, Min, ValidateIf } from 'class-validator';
import { permissionCatalogue, permissionNames, type PermissionName } from '@domain/access/permissions.js';
import { memberKinds, type MemberKind } from '@domain/access/credentials.js';
import { organizationRoleNames, organizationRoles, projectRoleNames, projectRoles, type OrganizationRole, type ProjectRole } from '@domain/access/roles.js';
import { nameLimit } from '@domain/organizations/member.js';
import { Characters } from '@platform/http/characters.js';
import { PageOf, PageQuery } from '@platform/http/paging.js';
import { IsPublicId } from '@platform/http/public-id.js';
import { WholeNumber } from '@platform/http/whole-number.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { suspenders, type Member, type Suspender } from '../public/member.queries.js';
import type { OrganizationRow } from '../queries/organization.js';

export class Expected {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'The `revision` that you read.' })
  @IsInt()
  @Min(1)
  @Max(2_147_483_647)
  expected: number;
}

export class RenameBody extends Expected {
  @ApiProperty({ minLength: 1, maxLength: nameLimit })
  @Characters(1, nameLimit)
  name: string;
}

export class OrganizationView {
  @ApiProperty({ example: 'org_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ type: 'integer', description: 'Send it as `expected` with a change.' }) revision: number;
  @ApiProperty({ example: 'Example Ltd' }) name: string;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) createdAt: number;
}
export const toOrganizationView = ({ id, revision, name, created_at }: OrganizationRow): OrganizationView => ({
  id: toPublicId('organization', id),
  revision,
  name,
  createdAt: created_at.getTime(),
});

export class MemberView {
  @ApiProperty({ example: 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ enum: memberKinds.filter((kind) => kind !== 'api_key') }) kind: MemberKind;
  @ApiProperty({ type: 'integer', description: 'Send it as `expected` with a change.' }) revision: number;
  @ApiProperty({ example: 'Ada' }) name: string;
  @ApiProperty({ type: String, nullable: true, example: 'ada@example.com' }) email: string | null;
  @ApiProperty({ enum: organizationRoleNames }) role: OrganizationRole;
  @ApiProperty({ description: 'A suspended member keeps everything and may do nothing.' }) suspended: boolean;
  @ApiProperty({ enum: suspenders, isArray: true, description: 'Whose word it is: each takes back its own alone. Empty where they are not suspended.' })
  suspendedBy: readonly Suspender[];
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) createdAt: number;
}
export const toMemberView = ({ id, createdAt, stoppedBy: _, ...member }: Member): MemberView => ({ id: toPublicId('member', id), ...member, createdAt: createdAt.getTime() });
export class MemberPage extends PageOf(MemberView) {}

export class ChangeMemberBody extends Expected {
  @ApiPropertyOptional({ minLength: 1, maxLength: nameLimit })
  @ValidateIf((body: ChangeMemberBody) => body.name !== undefined)
  @Characters(1, nameLimit)
  name?: string;

  @ApiPropertyOptional({ enum: organizationRoleNames, description: 'None that holds a permission which you do not have.' })
  @ValidateIf((body: ChangeMemberBody) => body.role !== undefined)
  @IsIn(organizationRoleNames)
  role?: OrganizationRole;

  @ApiPropertyOptional({ description: '`true`: tokens count no more, open streams end, and work that goes on for the member is stopped.' })
  @ValidateIf((body: ChangeMemberBody) => body.suspended !== undefined)
  @IsBoolean()
  suspended?: boolean;
}

/** As `Expected`, where there is no body. */
export class ExpectedQuery {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'The `revision` that you read.' })
  @WholeNumber()
  @IsInt()
  @Min(1)
  @Max(2_147_483_647)
  expected: number;
}

class RoleView {
  @ApiProperty({ description: 'What the role is for.' }) summary: string;
  @ApiProperty({ enum: permissionNames, isArray: true }) permissions: PermissionName[];
}
export class OrganizationRoleView extends RoleView {
  @ApiProperty({ enum: organizationRoleNames }) name: OrganizationRole;
}
export class ProjectRoleView extends RoleView {
  @ApiProperty({ enum: projectRoleNames }) name: ProjectRole;
}
export class PermissionView {
  @ApiProperty({ enum: permissionNames }) name: PermissionName;
  @ApiProperty({ description: 'What it allows.' }) summary: string;
}
export class RolesView {
  @ApiProperty({ type: [OrganizationRoleView], description: 'What a member is in the organization: exactly one of them.' }) organization: OrganizationRoleView[];
  @ApiProperty({ type: [ProjectRoleView], description: 'What a member is in one project besides: it only adds.' }) project: ProjectRoleView[];
  @ApiProperty({ type: [PermissionView] }) permissions: PermissionView[];
}
export const rolesView: RolesView = {
  organization: organizationRoleNames.map((name) => ({ name, summary: organizationRoles[name].summary, permissions: [...organizationRoles[name].permissions] })),
  project: projectRoleNames.map((name) => ({ name, summary: projectRoles[name].summary, permissions: [...projectRoles[name].permissions] })),
  permissions: permissionNames.map((name) => ({ name, summary: permissionCatalogue[name] })),
};

export class MembersQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsPublicId('member')
  after?: string;
}
