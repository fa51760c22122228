import { Body, Controller, Get, Patch } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { read } from '@platform/database/transact.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { RenameOrganizationCommand } from '../commands/rename-organization.command.js';
import { loadOrganization } from '../queries/organization.js';
import { OrganizationView, RenameBody, RolesView, rolesView, toOrganizationView } from './organizations.dto.js';
import { renameOrganizationProblems } from './organizations.problems.js';

@ApiTags('Organization')
@Controller('v1/organization')
export class OrganizationController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  @Get()
  @Permit('organization.read')
  @ApiOperation({ operationId: 'readOrganization', summary: 'Read your organization' })
  @ApiOkResponse({ type: OrganizationView })
  @ApiProblems()
  async readOrganization(@CurrentIdentity() { context }: Identity): Promise<OrganizationView> {
    return toOrganizationView(await read(this.db, context, loadOrganization));
  }

  @Patch()
  @Permit('organization.change')
  @ApiOperation({ operationId: 'renameOrganization', summary: 'Rename your organization' })
  @ApiOkResponse({ type: OrganizationView })
  @ApiProblems(renameOrganizationProblems)
  async renameOrganization(@CurrentIdentity() identity: Identity, @Body() body: RenameBody): Promise<OrganizationView> {
    return toOrganizationView(respond(await this.commands.execute(new RenameOrganizationCommand(identity, body)), renameOrganizationProblems));
  }

  @Get('roles')
  @Permit('organization.read')
  @ApiOperation({
    operationId: 'listRoles',
    summary: 'List the roles and what each of them may do',
    description: 'The catalogue of this server: it is the same for every organization.',
  })
  @ApiOkResponse({ type: RolesView })
  @ApiProblems()
  listRoles(): RolesView {
    return rolesView;
  }
}
