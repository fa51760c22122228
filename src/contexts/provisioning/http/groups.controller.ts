import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Put } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiNoContentResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import type { JsonObject } from '@domain/provisioning/attributes.js';
import { patchGroup, readGroup, replaced, type GroupChange } from '@domain/provisioning/group.js';
import { invalid, readPatch } from '@domain/provisioning/patch.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { ScimInvalid } from '@domain/provisioning/failures.js';
import type { ReadTx } from '@engine/tx.js';
import { Config } from '@platform/config/config.js';
import { read } from '@platform/database/transact.js';
import { AcceptScim } from '@platform/http/form-body.js';
import { PublicId } from '@platform/http/public-id.js';
import { respond } from '@platform/http/problem.js';
import { CurrentDirectory, type Directory } from '@platform/identity/directory.js';
import { Permit } from '@platform/identity/identity.js';
import { publicUrlOf } from '@platform/identity/public-url.js';
import { ChangeGroupCommand } from '../commands/change-group.command.js';
import { CreateGroupCommand } from '../commands/create-group.command.js';
import { DeleteGroupCommand } from '../commands/delete-group.command.js';
import { findGroup, listGroups, type GroupRow } from '../queries/groups.js';
import { listMembersOf, type MemberOfGroup } from '../queries/memberships.js';
import { groupLocation, toGroupView } from './groups.view.js';
import {
  ApiScim,
  ApiScimList,
  ApiScimProjection,
  askedOf,
  CurrentCall,
  isKnown,
  leavesOut,
  listOf,
  projected,
  projectionOf,
  revisionOf,
  tellVersion,
  type Projection,
  type ScimCall,
} from './scim.answers.js';
import { ApiScimProblems, scimProblems } from './scim.problems.js';

/** Of one answer. Whoever has more asks without them: `excludedAttributes=members`. */
const mostMembers = 20_000;

@ApiTags('SCIM')
@Controller('scim/v2/Groups')
export class DirectoryGroupsController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly config: Config,
  ) {}

  @Get()
  @Permit('directory')
  @ApiOperation({ operationId: 'listScimGroups', summary: 'List the groups of which your directory told' })
  @ApiScim(200, 'A ListResponse.')
  @ApiScimList()
  @ApiScimProblems('ScimInvalid')
  async listGroups(@CurrentDirectory() { context, providerId }: Directory, @CurrentCall() { query, request }: ScimCall): Promise<JsonObject> {
    const [asked, projection] = [askedOf(query), projectionOf(query)];
    const [found, members] = await read(this.db, context, async (tx) => {
      const page = await listGroups(tx, providerId, asked);
      return [page, await membersOf(tx, page.ok ? page.value.rows : [], projection)] as const;
    });
    const { rows, total } = respond(found, scimProblems);
    const shown = respond(members, scimProblems);
    return listOf(
      rows.map((row) => this.view(row, shown, projection, request)),
      total,
      asked,
    );
  }

  @Post()
  @Permit('directory')
  @AcceptScim()
  @ApiOperation({
    operationId: 'createScimGroup',
    summary: 'Tell of a group',
    description: 'The `groupRoles` of the identity provider say by its displayName or externalId what its members become.',
  })
  @ApiScim(201, 'The group.')
  @ApiScimProjection()
  @ApiScimProblems('ScimInvalid', 'ScimNotFound', 'ScimLastOwner')
  async createGroup(@CurrentDirectory() directory: Directory, @Body() body: JsonObject, @CurrentCall() call: ScimCall): Promise<JsonObject> {
    const projection = projectionOf(call.query);
    const row = respond(await this.commands.execute(new CreateGroupCommand(directory, respond(readGroup(body), scimProblems))), scimProblems);
    return this.answer(directory, row, projection, call);
  }

  @Get(':scimGroupId')
  @Permit('directory')
  @ApiOperation({ operationId: 'readScimGroup', summary: 'Read a group' })
  @ApiParam({ name: 'scimGroupId' })
  @ApiScim(200, 'The group.')
  @ApiScimProjection()
  @ApiScimProblems('ScimInvalid', 'ScimNotFound')
  async readGroup(
    @CurrentDirectory() directory: Directory,
    @PublicId('scimGroupId', 'directoryGroup', scimProblems, 'ScimNotFound') id: string,
    @CurrentCall() call: ScimCall,
  ): Promise<JsonObject | null> {
    const projection = projectionOf(call.query);
    const found = await read(this.db, directory.context, (tx) => findGroup(tx, directory.providerId, id));
    const row = respond(found ? ok(found) : fail({ _tag: 'ScimNotFound' as const }), scimProblems);
    if (!isKnown(call.request, row)) return this.answer(directory, row, projection, call);
    void call.reply.code(304);
    return null;
  }

  @Put(':scimGroupId')
  @Permit('directory')
  @AcceptScim()
  @ApiOperation({ operationId: 'replaceScimGroup', summary: 'Say all of a group anew' })
  @ApiParam({ name: 'scimGroupId' })
  @ApiScim(200, 'The group.')
  @ApiScimProjection()
  @ApiScimProblems('ScimInvalid', 'ScimNotFound', 'ScimLastOwner', 'ScimVersionConflict')
  async replaceGroup(
    @CurrentDirectory() directory: Directory,
    @PublicId('scimGroupId', 'directoryGroup', scimProblems, 'ScimNotFound') id: string,
    @Body() body: JsonObject,
    @CurrentCall() call: ScimCall,
  ): Promise<JsonObject> {
    const projection = projectionOf(call.query);
    const row = await this.change(directory, id, replaced(respond(readGroup(body), scimProblems)), call);
    return this.answer(directory, row, projection, call);
  }

  @Patch(':scimGroupId')
  @HttpCode(204)
  @Permit('directory')
  @AcceptScim()
  @ApiOperation({
    operationId: 'patchScimGroup',
    summary: 'Change a group',
    description: 'In one transaction, however many members come or go. It answers the group where `attributes` says of which.',
  })
  @ApiParam({ name: 'scimGroupId' })
  @ApiNoContentResponse({ description: 'It is so.' })
  @ApiScim(200, 'The group.')
  @ApiScimProjection()
  @ApiScimProblems('ScimInvalid', 'ScimNotFound', 'ScimLastOwner', 'ScimVersionConflict')
  async patchGroup(
    @CurrentDirectory() directory: Directory,
    @PublicId('scimGroupId', 'directoryGroup', scimProblems, 'ScimNotFound') id: string,
    @Body() body: JsonObject,
    @CurrentCall() call: ScimCall,
  ): Promise<JsonObject | null> {
    const projection = projectionOf(call.query);
    const operations = respond(readPatch(body), scimProblems);
    const row = await this.change(directory, id, respond(patchGroup(operations), scimProblems), call);
    tellVersion(call.reply, row, groupLocation(this.base(call.request), row.id));
    if (projection.only === null) return null;
    void call.reply.code(200);
    return this.answer(directory, row, projection, call);
  }

  @Delete(':scimGroupId')
  @HttpCode(204)
  @Permit('directory')
  @ApiOperation({ operationId: 'deleteScimGroup', summary: 'Forget a group', description: 'Its members become what their other groups make of them.' })
  @ApiParam({ name: 'scimGroupId' })
  @ApiNoContentResponse()
  @ApiScimProblems('ScimNotFound', 'ScimLastOwner', 'ScimVersionConflict')
  async deleteGroup(
    @CurrentDirectory() directory: Directory,
    @PublicId('scimGroupId', 'directoryGroup', scimProblems, 'ScimNotFound') id: string,
    @CurrentCall() { request }: ScimCall,
  ): Promise<void> {
    respond(await this.commands.execute(new DeleteGroupCommand(directory, id, revisionOf(request))), scimProblems);
  }

  private async change(directory: Directory, id: string, change: GroupChange, { request }: ScimCall): Promise<GroupRow> {
    return respond(await this.commands.execute(new ChangeGroupCommand(directory, id, revisionOf(request), change)), scimProblems);
  }

  private async answer({ context }: Directory, row: GroupRow, projection: Projection, { request, reply }: ScimCall): Promise<JsonObject> {
    const members = respond(await read(this.db, context, (tx) => membersOf(tx, [row], projection)), scimProblems);
    tellVersion(reply, row, groupLocation(this.base(request), row.id));
    return this.view(row, members, projection, request);
  }

  private view(row: GroupRow, members: readonly MemberOfGroup[] | null, projection: Projection, request: FastifyRequest): JsonObject {
    const own = members && members.filter(({ group_id }) => group_id === row.id);
    return projected(toGroupView(row, own, this.base(request)), projection);
  }

  private base({ socket }: FastifyRequest): string | null {
    return publicUrlOf(this.config, socket.localPort);
  }
}

/** `null`: they are not asked for. */
async function membersOf(tx: ReadTx, rows: readonly GroupRow[], projection: Projection): Promise<Result<readonly MemberOfGroup[] | null, ScimInvalid>> {
  if (leavesOut(projection, 'members')) return ok(null);
  const members = await listMembersOf(tx, rows.map(({ id }) => id), mostMembers + 1); // prettier-ignore
  return members.length > mostMembers ? invalid('tooMany', `There are more than ${mostMembers} members: ask with excludedAttributes=members.`) : ok(members);
}
