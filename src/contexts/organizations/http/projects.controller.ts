import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Put, Query } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiAcceptedResponse, ApiCreatedResponse, ApiHeader, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { fail, ok } from '@domain/result.js';
import { FindReachQuery } from '@contexts/sign-in/public/find-reach.query.js';
import { read } from '@platform/database/transact.js';
import { IdempotencyKey } from '@platform/http/idempotency-key.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { pageOf } from '@platform/http/paging.js';
import { PublicId } from '@platform/http/public-id.js';
import { keyed } from '@platform/identity/command-key.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { CreateProjectCommand } from '../commands/create-project.command.js';
import { DeleteProjectCommand } from '../commands/delete-project.command.js';
import { RenameProjectCommand } from '../commands/rename-project.command.js';
import { SetProjectMembersCommand } from '../commands/set-project-members.command.js';
import { findProject, listProjects } from '../queries/organization.js';
import { listProjectMembers, type ProjectMember } from '../queries/project-roles.js';
import { ExpectedQuery, RenameBody } from './organizations.dto.js';
import { createProjectProblems, deleteProjectProblems, readProjectProblems, renameProjectProblems, setProjectMembersProblems } from './organizations.problems.js';
import * as dto from './projects.dto.js';

const idempotencyKey = {
  name: 'Idempotency-Key',
  required: false,
  schema: { type: 'string', minLength: 1, maxLength: 128 },
  description: 'Names this request, so that a retry has the same answer and changes nothing more.',
} as const;

/** A malformed member id is one that nobody has. */
function toProjectMember({ member, role }: dto.ProjectMemberBody, index: number): ProjectMember {
  const memberId = fromPublicId('member', member);
  return memberId === null ? respond(fail({ _tag: 'ProjectMemberInvalid', field: `members[${index}].member`, member }), setProjectMembersProblems) : { memberId, role };
}

@ApiTags('Projects')
@Controller('v1/projects')
export class ProjectsController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly sealer: Sealer,
  ) {}

  @Post()
  @Permit('projects.create')
  @ApiOperation({ operationId: 'createProject', summary: 'Create a project', description: 'You run it. The answer to a retry with the same key is the first one.' })
  @ApiHeader(idempotencyKey)
  @ApiCreatedResponse({ type: dto.ProjectReceiptView })
  @ApiProblems(createProjectProblems)
  async createProject(@CurrentIdentity() identity: Identity, @IdempotencyKey() key: string | null, @Body() { name }: dto.CreateProjectBody): Promise<dto.ProjectReceiptView> {
    const command = key === null ? null : await keyed(this.sealer, identity, key, { command: 'createProject', name });
    return dto.toProjectReceiptView(respond(await this.commands.execute(new CreateProjectCommand(identity, command, name)), createProjectProblems));
  }

  @Get()
  @Permit('projects.read')
  @ApiOperation({ operationId: 'listProjects', summary: 'List the projects, the default first', description: 'A credential for some projects sees those.' })
  @ApiOkResponse({ type: dto.ProjectPage })
  @ApiProblems()
  async listProjects(@CurrentIdentity() { context, tokenId }: Identity, @Query() query: dto.ProjectsQuery): Promise<dto.ProjectPage> {
    const page = { after: query.after === undefined ? null : fromPublicId('project', query.after), limit: query.limit + 1 };
    const rows = await read(this.db, context, async (tx) => listProjects(tx, page, await this.queries.execute(new FindReachQuery(tokenId, tx))));
    return pageOf(rows, query.limit, dto.toProjectView, ({ id }) => toPublicId('project', id));
  }

  @Get(':projectId')
  @Permit('projects.read')
  @ApiOperation({ operationId: 'readProject', summary: 'Read a project' })
  @ApiParam({ name: 'projectId' })
  @ApiOkResponse({ type: dto.ProjectView })
  @ApiProblems(readProjectProblems)
  async readProject(@CurrentIdentity() identity: Identity, @PublicId('projectId', 'project', readProjectProblems, 'ProjectNotFound') projectId: string): Promise<dto.ProjectView> {
    return dto.toProjectView(await this.readOwn(identity, projectId));
  }

  @Patch(':projectId')
  @Permit('projects.change')
  @ApiOperation({ operationId: 'renameProject', summary: 'Rename a project' })
  @ApiParam({ name: 'projectId' })
  @ApiOkResponse({ type: dto.ProjectView })
  @ApiProblems(renameProjectProblems)
  async renameProject(
    @CurrentIdentity() identity: Identity,
    @PublicId('projectId', 'project', renameProjectProblems, 'ProjectNotFound') projectId: string,
    @Body() body: RenameBody,
  ): Promise<dto.ProjectView> {
    return dto.toProjectView(respond(await this.commands.execute(new RenameProjectCommand(identity, projectId, body)), renameProjectProblems));
  }

  @Delete(':projectId')
  @HttpCode(202)
  @Permit('projects.delete')
  @ApiOperation({
    operationId: 'deleteProject',
    summary: 'Delete a project with everything in it',
    description:
      'The project is missing for everybody at once, and its work is stopped. Conversations, logs, the feed, the audit log and objects are then removed for good, and counted: read the purge. What is the organization’s stays.',
  })
  @ApiParam({ name: 'projectId' })
  @ApiHeader(idempotencyKey)
  @ApiAcceptedResponse({ type: dto.DeleteProjectReceiptView })
  @ApiProblems(deleteProjectProblems)
  async deleteProject(
    @CurrentIdentity() identity: Identity,
    @PublicId('projectId', 'project', deleteProjectProblems, 'ProjectNotFound') projectId: string,
    @IdempotencyKey() key: string | null,
    @Query() { expected }: ExpectedQuery,
  ): Promise<dto.DeleteProjectReceiptView> {
    const command = key === null ? null : await keyed(this.sealer, identity, key, { command: 'deleteProject', project: projectId, expected });
    return dto.toDeleteProjectReceiptView(respond(await this.commands.execute(new DeleteProjectCommand(identity, command, projectId, expected)), deleteProjectProblems), key);
  }

  @Get(':projectId/members')
  @Permit('projects.read')
  @ApiOperation({ operationId: 'readProjectMembers', summary: 'Read who has a role of their own in a project' })
  @ApiParam({ name: 'projectId' })
  @ApiOkResponse({ type: dto.ProjectMembersView })
  @ApiProblems(readProjectProblems)
  async readMembers(
    @CurrentIdentity() identity: Identity,
    @PublicId('projectId', 'project', readProjectProblems, 'ProjectNotFound') projectId: string,
  ): Promise<dto.ProjectMembersView> {
    const { revision } = await this.readOwn(identity, projectId);
    return dto.toProjectMembersView({ revision, members: await read(this.db, identity.context, (tx) => listProjectMembers(tx, projectId)) });
  }

  @Put(':projectId/members')
  @Permit('projects.change')
  @ApiOperation({
    operationId: 'setProjectMembers',
    summary: 'Set who has which role in a project',
    description: 'A role adds to what a member may do in the organization. Who may have no bots work for them any more is stopped at once.',
  })
  @ApiParam({ name: 'projectId' })
  @ApiOkResponse({ type: dto.ProjectMembersView })
  @ApiProblems(setProjectMembersProblems)
  async setMembers(
    @CurrentIdentity() identity: Identity,
    @PublicId('projectId', 'project', setProjectMembersProblems, 'ProjectNotFound') projectId: string,
    @Body() { expected, members }: dto.SetProjectMembersBody,
  ): Promise<dto.ProjectMembersView> {
    const result = await this.commands.execute(new SetProjectMembersCommand(identity, projectId, expected, members.map(toProjectMember)));
    return dto.toProjectMembersView(respond(result, setProjectMembersProblems));
  }

  /** The project that the path names, if the caller acts there. */
  private async readOwn({ context }: Identity, projectId: string) {
    const found = projectId === context.projectId ? await read(this.db, context, (tx) => findProject(tx, projectId)) : null;
    return respond(found ? ok(found) : fail({ _tag: 'ProjectNotFound' as const }), readProjectProblems);
  }
}
