import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, ValidateIf } from 'class-validator';
import { organizationRoleNames, serviceAccountRoles, type OrganizationRole, type ServiceAccountRole } from '@domain/access/roles.js';
import { nameLimit } from '@domain/organizations/member.js';
import { Characters } from '@platform/http/characters.js';
import { PageOf } from '@platform/http/paging.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { ServiceAccount } from '../public/member.queries.js';

export class ServiceAccountView {
  @ApiProperty({ example: 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ example: 'Deployments' }) name: string;
  @ApiProperty({ enum: organizationRoleNames }) role: OrganizationRole;
  @ApiProperty({ description: 'A suspended account keeps everything and may do nothing.' }) suspended: boolean;
  @ApiProperty({ type: 'integer', description: 'Send it as `expected` with a change, which is one of a member.' }) revision: number;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) createdAt: number;
}
export const toServiceAccountView = ({ id, createdAt, ...account }: ServiceAccount): ServiceAccountView => ({
  id: toPublicId('member', id),
  ...account,
  createdAt: createdAt.getTime(),
});
export class ServiceAccountPage extends PageOf(ServiceAccountView) {}

export class CreateServiceAccountBody {
  @ApiProperty({ example: 'Deployments', minLength: 1, maxLength: nameLimit })
  @Characters(1, nameLimit)
  name: string;

  @ApiPropertyOptional({ enum: serviceAccountRoles, default: 'member', description: 'One that you may appoint.' })
  @ValidateIf((body: CreateServiceAccountBody) => body.role !== undefined)
  @IsIn(serviceAccountRoles)
  role?: ServiceAccountRole;
}
