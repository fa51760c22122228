import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { ArrayMaxSize, ArrayUnique, IsArray, IsBoolean, IsEmail, IsIn, IsInt, IsOptional, IsString, Max, MaxLength, Min, ValidateIf, ValidateNested } from 'class-validator';
import { organizationRoleNames, projectRoleNames, type OrganizationRole, type ProjectRole } from '@domain/access/roles.js';
import { defaultInvitation, invitationProjectsLimit, longestInvitation, shortestInvitation } from '@domain/organizations/invitation.js';
import { nameLimit } from '@domain/organizations/member.js';
import { longestPassword, shortestPassword } from '@domain/sign-in/password.js';
import { Characters } from '@platform/http/characters.js';
import { PageOf, PageQuery } from '@platform/http/paging.js';
import { IsPublicId } from '@platform/http/public-id.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import type { WantedInvitation } from '../commands/invite.command.js';
import type { Invitation } from '../queries/invitations.js';

/** Characters: whatever is longer is no text of ours. */
const longestLink = 100;

export class RenewInvitationBody {
  @ApiPropertyOptional({ type: 'integer', minimum: shortestInvitation, maximum: longestInvitation, default: defaultInvitation, description: 'Milliseconds until it expires.' })
  @ValidateIf((body: RenewInvitationBody) => body.expiresInMs !== undefined)
  @IsInt()
  @Min(shortestInvitation)
  @Max(longestInvitation)
  expiresInMs?: number;
}

export class InvitationProjectBody {
  @ApiProperty({ example: 'proj_01k0w3j9v7e8t9q0c5m2x4z6b8' })
  @IsPublicId('project')
  id: string;

  @ApiProperty({ enum: projectRoleNames })
  @IsIn(projectRoleNames)
  role: ProjectRole;
}

export class CreateInvitationBody extends RenewInvitationBody {
  @ApiProperty({ format: 'email', minLength: 3, maxLength: 254, example: 'ada@example.com', description: 'Whoever accepts becomes a member with exactly this address.' })
  @IsEmail()
  @Characters(3, 254)
  email: string;

  @ApiPropertyOptional({ minLength: 1, maxLength: nameLimit, example: 'Ada', description: 'Without it, and unless they say another: what stands before the @.' })
  @ValidateIf((body: CreateInvitationBody) => body.name !== undefined)
  @Characters(1, nameLimit)
  name?: string;

  @ApiPropertyOptional({ enum: organizationRoleNames, default: 'member', description: 'None that holds a permission which you do not have.' })
  @ValidateIf((body: CreateInvitationBody) => body.role !== undefined)
  @IsIn(organizationRoleNames)
  role?: OrganizationRole;

  @ApiPropertyOptional({ type: [InvitationProjectBody], maxItems: invitationProjectsLimit, description: 'Roles in projects besides.' })
  @ValidateIf((body: CreateInvitationBody) => body.projects !== undefined)
  @IsArray()
  @ArrayMaxSize(invitationProjectsLimit)
  @ArrayUnique((project?: InvitationProjectBody | null) => project?.id)
  @ValidateNested({ each: true })
  @Type(() => InvitationProjectBody)
  projects?: InvitationProjectBody[];

  @ApiPropertyOptional({ default: false, description: '`true`: they choose a password and may sign in with it. Owners alone say so.' })
  @ValidateIf((body: CreateInvitationBody) => body.passwordSignIn !== undefined)
  @IsBoolean()
  passwordSignIn?: boolean;
}
export const toWantedInvitation = ({
  email,
  name,
  role = 'member',
  projects = [],
  passwordSignIn = false,
  expiresInMs = defaultInvitation,
}: CreateInvitationBody): WantedInvitation => ({
  email,
  name: name ?? null,
  role,
  projects: projects.map((project) => ({ projectId: fromPublicId('project', project.id)!, role: project.role })),
  passwordSignIn,
  expiresInMs,
});

export class InvitationProjectView {
  @ApiProperty({ example: 'proj_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ enum: projectRoleNames }) role: ProjectRole;
}

export class InvitationView {
  @ApiProperty({ example: 'inv_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ example: 'ada@example.com' }) email: string;
  @ApiProperty({ type: String, nullable: true, example: 'Ada' }) name: string | null;
  @ApiProperty({ enum: organizationRoleNames }) role: OrganizationRole;
  @ApiProperty({ type: [InvitationProjectView] }) projects: InvitationProjectView[];
  @ApiProperty() passwordSignIn: boolean;
  @ApiProperty({ example: 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8', description: 'Who made it, or renewed it last: it counts as long as they may.' }) invitedBy: string;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) createdAt: number;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch. An expired one can be renewed.' }) expiresAt: number;
}
export const toInvitationView = (row: Invitation): InvitationView => ({
  id: toPublicId('invitation', row.id),
  email: row.email,
  name: row.name,
  role: row.role,
  projects: row.projects.map(({ projectId, role }) => ({ id: toPublicId('project', projectId), role })),
  passwordSignIn: row.password_sign_in,
  invitedBy: toPublicId('member', row.invited_by),
  createdAt: row.created_at.getTime(),
  expiresAt: row.expires_at.getTime(),
});
export class InvitationPage extends PageOf(InvitationView) {}

export class InvitationWithLinkView extends InvitationView {
  @ApiProperty({ description: 'Lets in whoever opens it, once. It is shown this once: hand it over to whom it is for.' }) link: string;
}

export class InvitationsQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsPublicId('invitation')
  after?: string;
}

export class LookBody {
  @ApiProperty({ maxLength: longestLink, description: 'What the link carries behind `#token=`.' })
  @IsString()
  @MaxLength(longestLink)
  token: string;
}

export class InvitedView {
  @ApiProperty({ example: 'Example Ltd' }) organization: string;
  @ApiProperty({ example: 'ada@example.com' }) email: string;
  @ApiProperty({ enum: organizationRoleNames }) role: OrganizationRole;
  @ApiProperty({ description: 'Accepting it needs a password, with which you sign in later.' }) passwordSignIn: boolean;
}

export class AcceptBody extends LookBody {
  @ApiPropertyOptional({ example: 'Ada', minLength: 1, maxLength: nameLimit, description: 'How you want to be called.' })
  @ValidateIf((body: AcceptBody) => body.name !== undefined)
  @Characters(1, nameLimit)
  name?: string;

  @ApiPropertyOptional({
    example: 'seven tall giraffes',
    minLength: shortestPassword,
    maxLength: longestPassword,
    description: 'Where the invitation asks for one, and there alone.',
  })
  @ValidateIf((body: AcceptBody) => body.password !== undefined)
  @Characters(shortestPassword, longestPassword)
  password?: string;
}
