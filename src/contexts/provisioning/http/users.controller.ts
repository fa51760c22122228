import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Put } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiNoContentResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import type { JsonObject } from '@domain/provisioning/attributes.js';
import { readPatch } from '@domain/provisioning/patch.js';
import { fail, ok } from '@domain/result.js';
import { Config } from '@platform/config/config.js';
import { read } from '@platform/database/transact.js';
import { AcceptScim } from '@platform/http/form-body.js';
import { PublicId } from '@platform/http/public-id.js';
import { respond } from '@platform/http/problem.js';
import { CurrentDirectory, type Directory } from '@platform/identity/directory.js';
import { Permit } from '@platform/identity/identity.js';
import { publicUrlOf } from '@platform/identity/public-url.js';
import { ChangeUserCommand, type UserChange } from '../commands/change-user.command.js';
import { CreateUserCommand } from '../commands/create-user.command.js';
import { DeleteUserCommand } from '../commands/delete-user.command.js';
import { listGroupsOf, type Membership } from '../queries/memberships.js';
import { findUser, listUsers, type UserRow } from '../queries/users.js';
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
import { toUserView, userLocation } from './users.view.js';

@ApiTags('SCIM')
@Controller('scim/v2/Users')
export class DirectoryUsersController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly config: Config,
  ) {}

  @Get()
  @Permit('directory')
  @ApiOperation({ operationId: 'listScimUsers', summary: 'List the users of whom your directory told' })
  @ApiScim(200, 'A ListResponse.')
  @ApiScimList()
  @ApiScimProblems('ScimInvalid')
  async listUsers(@CurrentDirectory() { context, providerId }: Directory, @CurrentCall() { query, request }: ScimCall): Promise<JsonObject> {
    const [asked, projection] = [askedOf(query), projectionOf(query)];
    const [found, groups] = await read(this.db, context, async (tx) => {
      const page = await listUsers(tx, providerId, asked);
      const ids = page.ok && !leavesOut(projection, 'groups') ? page.value.rows.map(({ id }) => id) : [];
      return [page, ids.length === 0 ? [] : await listGroupsOf(tx, ids)] as const;
    });
    const { rows, total } = respond(found, scimProblems);
    return listOf(
      rows.map((row) => this.view(row, groups, projection, request)),
      total,
      asked,
    );
  }

  @Post()
  @Permit('directory')
  @AcceptScim()
  @ApiOperation({
    operationId: 'createScimUser',
    summary: 'Tell of a user, who becomes a member',
    description: 'The domain of their address has to be verified for the identity provider.',
  })
  @ApiScim(201, 'The user.')
  @ApiScimProjection()
  @ApiScimProblems('ScimInvalid', 'ScimTaken', 'ScimNotFound', 'ScimLastOwner')
  async createUser(@CurrentDirectory() directory: Directory, @Body() body: JsonObject, @CurrentCall() call: ScimCall): Promise<JsonObject> {
    const projection = projectionOf(call.query);
    const row = respond(await this.commands.execute(new CreateUserCommand(directory, body)), scimProblems);
    return this.answer(row, [], projection, call);
  }

  @Get(':scimUserId')
  @Permit('directory')
  @ApiOperation({ operationId: 'readScimUser', summary: 'Read a user' })
  @ApiParam({ name: 'scimUserId' })
  @ApiScim(200, 'The user.')
  @ApiScimProjection()
  @ApiScimProblems('ScimInvalid', 'ScimNotFound')
  async readUser(
    @CurrentDirectory() { context, providerId }: Directory,
    @PublicId('scimUserId', 'directoryUser', scimProblems, 'ScimNotFound') id: string,
    @CurrentCall() call: ScimCall,
  ): Promise<JsonObject | null> {
    const [found, groups] = await read(this.db, context, async (tx) => [await findUser(tx, providerId, id), await listGroupsOf(tx, [id])] as const);
    const row = respond(found ? ok(found) : fail({ _tag: 'ScimNotFound' as const }), scimProblems);
    if (isKnown(call.request, row)) {
      void call.reply.code(304);
      return null;
    }
    return this.answer(row, groups, projectionOf(call.query), call);
  }

  @Put(':scimUserId')
  @Permit('directory')
  @AcceptScim()
  @ApiOperation({ operationId: 'replaceScimUser', summary: 'Say all of a user anew', description: 'Whether they are active stays, where the body does not say.' })
  @ApiParam({ name: 'scimUserId' })
  @ApiScim(200, 'The user.')
  @ApiScimProjection()
  @ApiScimProblems('ScimInvalid', 'ScimTaken', 'ScimNotFound', 'ScimLastOwner', 'ScimVersionConflict')
  replaceUser(
    @CurrentDirectory() directory: Directory,
    @PublicId('scimUserId', 'directoryUser', scimProblems, 'ScimNotFound') id: string,
    @Body() body: JsonObject,
    @CurrentCall() call: ScimCall,
  ): Promise<JsonObject> {
    return this.change(directory, id, { resource: body }, call);
  }

  @Patch(':scimUserId')
  @Permit('directory')
  @AcceptScim()
  @ApiOperation({ operationId: 'patchScimUser', summary: 'Change a user', description: '`active: false` stops the member within seconds; `active: true` takes back that alone.' })
  @ApiParam({ name: 'scimUserId' })
  @ApiScim(200, 'The user.')
  @ApiScimProjection()
  @ApiScimProblems('ScimInvalid', 'ScimTaken', 'ScimNotFound', 'ScimLastOwner', 'ScimVersionConflict')
  async patchUser(
    @CurrentDirectory() directory: Directory,
    @PublicId('scimUserId', 'directoryUser', scimProblems, 'ScimNotFound') id: string,
    @Body() body: JsonObject,
    @CurrentCall() call: ScimCall,
  ): Promise<JsonObject> {
    return this.change(directory, id, { operations: respond(readPatch(body), scimProblems) }, call);
  }

  @Delete(':scimUserId')
  @HttpCode(204)
  @Permit('directory')
  @ApiOperation({ operationId: 'deleteScimUser', summary: 'Forget a user', description: 'The member stays, stopped: people alone remove members.' })
  @ApiParam({ name: 'scimUserId' })
  @ApiNoContentResponse()
  @ApiScimProblems('ScimNotFound', 'ScimLastOwner', 'ScimVersionConflict')
  async deleteUser(
    @CurrentDirectory() directory: Directory,
    @PublicId('scimUserId', 'directoryUser', scimProblems, 'ScimNotFound') id: string,
    @CurrentCall() { request }: ScimCall,
  ): Promise<void> {
    respond(await this.commands.execute(new DeleteUserCommand(directory, id, revisionOf(request))), scimProblems);
  }

  private async change(directory: Directory, id: string, change: UserChange, call: ScimCall): Promise<JsonObject> {
    const projection = projectionOf(call.query);
    const row = respond(await this.commands.execute(new ChangeUserCommand(directory, id, revisionOf(call.request), change)), scimProblems);
    const groups = leavesOut(projection, 'groups') ? [] : await read(this.db, directory.context, (tx) => listGroupsOf(tx, [id]));
    return this.answer(row, groups, projection, call);
  }

  private answer(row: UserRow, groups: readonly Membership[], projection: Projection, { request, reply }: ScimCall): JsonObject {
    tellVersion(reply, row, userLocation(this.base(request), row.id));
    return this.view(row, groups, projection, request);
  }

  private view(row: UserRow, groups: readonly Membership[], projection: Projection, request: FastifyRequest): JsonObject {
    const own = groups.filter(({ user_id }) => user_id === row.id);
    return projected(toUserView(row, own, this.base(request)), projection);
  }

  private base({ socket }: FastifyRequest): string | null {
    return publicUrlOf(this.config, socket.localPort);
  }
}
