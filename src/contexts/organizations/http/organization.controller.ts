import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { read } from '@platform/database/transact.js';
import { ApiProblems } from '@platform/http/problem.js';
import { pageOf } from '@platform/http/paging.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { listProjects, loadOrganization } from '../queries/organization.js';
import { OrganizationView, ProjectPage, ProjectsQuery, toOrganizationView, toProjectView } from './organizations.dto.js';

@ApiTags('Organization')
@Controller('v1')
export class OrganizationController {
  constructor(private readonly db: DataSource) {}

  @Get('organization')
  @Permit('organization.read')
  @ApiOperation({ operationId: 'readOrganization', summary: 'Read your organization' })
  @ApiOkResponse({ type: OrganizationView })
  @ApiProblems()
  async readOrganization(@CurrentIdentity() { context }: Identity): Promise<OrganizationView> {
    return toOrganizationView(await read(this.db, context, loadOrganization));
  }

  @Get('projects')
  @Permit('projects.read')
  @ApiOperation({ operationId: 'listProjects', summary: 'List the projects, the default first' })
  @ApiOkResponse({ type: ProjectPage })
  @ApiProblems()
  async listProjects(@CurrentIdentity() { context }: Identity, @Query() query: ProjectsQuery): Promise<ProjectPage> {
    const page = { after: query.after === undefined ? null : fromPublicId('project', query.after), limit: query.limit + 1 };
    const rows = await read(this.db, context, (tx) => listProjects(tx, page));
    return pageOf(rows, query.limit, toProjectView, ({ id }) => toPublicId('project', id));
  }
}
