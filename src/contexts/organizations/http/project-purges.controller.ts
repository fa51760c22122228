import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { fail, ok } from '@domain/result.js';
import { read } from '@platform/database/transact.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { pageOf } from '@platform/http/paging.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { findPurge, listPurges } from '../queries/project-purges.js';
import { readProjectPurgeProblems } from './organizations.problems.js';
import { ProjectPurgePage, ProjectPurgesQuery, ProjectPurgeView, toProjectPurgeView } from './project-purges.dto.js';

@ApiTags('Projects')
@Controller('v1/organization/project-purges')
export class ProjectPurgesController {
  constructor(private readonly db: DataSource) {}

  @Get()
  @Permit('organization.audit')
  @ApiOperation({ operationId: 'listProjectPurges', summary: 'List the projects that were deleted, oldest first' })
  @ApiOkResponse({ type: ProjectPurgePage })
  @ApiProblems()
  async listProjectPurges(@CurrentIdentity() { context }: Identity, @Query() query: ProjectPurgesQuery): Promise<ProjectPurgePage> {
    const page = { after: query.after === undefined ? null : fromPublicId('purge', query.after), limit: query.limit + 1 };
    const rows = await read(this.db, context, (tx) => listPurges(tx, page));
    return pageOf(rows, query.limit, toProjectPurgeView, ({ id }) => toPublicId('purge', id));
  }

  @Get(':purgeId')
  @Permit('organization.audit')
  @ApiOperation({ operationId: 'readProjectPurge', summary: 'Read how far a deleted project is gone, and what was removed' })
  @ApiParam({ name: 'purgeId' })
  @ApiOkResponse({ type: ProjectPurgeView })
  @ApiProblems(readProjectPurgeProblems)
  async readProjectPurge(
    @CurrentIdentity() { context }: Identity,
    @PublicId('purgeId', 'purge', readProjectPurgeProblems, 'ProjectPurgeNotFound') purgeId: string,
  ): Promise<ProjectPurgeView> {
    const found = await read(this.db, context, (tx) => findPurge(tx, purgeId));
    return toProjectPurgeView(respond(found ? ok(found) : fail({ _tag: 'ProjectPurgeNotFound' as const }), readProjectPurgeProblems));
  }
}
