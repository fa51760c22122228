import { Body, Controller, Delete, Get, HttpCode, Post, Query, Req } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiBody, ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import { defaultInvitation } from '@domain/organizations/invitation.js';
import { Config } from '@platform/config/config.js';
import { read } from '@platform/database/transact.js';
import { pageOf } from '@platform/http/paging.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { linkOf, requirePublicUrl } from '@platform/identity/public-url.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { InviteCommand, type MadeInvitation } from '../commands/invite.command.js';
import { RenewInvitationCommand } from '../commands/renew-invitation.command.js';
import { RevokeInvitationCommand } from '../commands/revoke-invitation.command.js';
import { listInvitations } from '../queries/invitations.js';
import { CreateInvitationBody, InvitationPage, InvitationsQuery, InvitationWithLinkView, RenewInvitationBody, toInvitationView, toWantedInvitation } from './invitations.dto.js';
import { invitationProblems, inviteProblems, renewInvitationProblems } from './invitations.problems.js';

const withLink = (url: string, { invitation, text }: MadeInvitation): InvitationWithLinkView => ({ ...toInvitationView(invitation), link: linkOf(url, 'invitation', text) });

@ApiTags('Organization')
@Controller('v1/organization/invitations')
export class InvitationsController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly config: Config,
  ) {}

  @Get()
  @Permit('members.create')
  @ApiOperation({ operationId: 'listInvitations', summary: 'List the invitations that are neither accepted nor revoked, oldest first' })
  @ApiOkResponse({ type: InvitationPage })
  @ApiProblems()
  async listInvitations(@CurrentIdentity() { context }: Identity, @Query() { after, limit }: InvitationsQuery): Promise<InvitationPage> {
    const page = { after: after === undefined ? null : fromPublicId('invitation', after), limit: limit + 1 };
    const rows = await read(this.db, context, (tx) => listInvitations(tx, page));
    return pageOf(rows, limit, toInvitationView, ({ id }) => toPublicId('invitation', id));
  }

  @Post()
  @Permit('members.create')
  @ApiOperation({
    operationId: 'createInvitation',
    summary: 'Invite somebody',
    description: 'The link makes whoever opens it a member, once. It counts as long as you may give what it gives, and is in no later answer: the server keeps a hash of it.',
  })
  @ApiCreatedResponse({ type: InvitationWithLinkView })
  @ApiProblems(inviteProblems)
  async createInvitation(@CurrentIdentity() identity: Identity, @Body() body: CreateInvitationBody, @Req() request: FastifyRequest): Promise<InvitationWithLinkView> {
    const url = requirePublicUrl(this.config, request);
    return withLink(url, respond(await this.commands.execute(new InviteCommand(identity, toWantedInvitation(body))), inviteProblems));
  }

  @Post(':invitationId/renew')
  @HttpCode(200)
  @Permit('members.create')
  @ApiOperation({
    operationId: 'renewInvitation',
    summary: 'Make the link of an invitation anew',
    description: 'The link before counts no more. From now on it is your invitation: it counts as long as you may give what it gives.',
  })
  @ApiParam({ name: 'invitationId' })
  @ApiBody({ type: RenewInvitationBody, required: false })
  @ApiOkResponse({ type: InvitationWithLinkView })
  @ApiProblems(renewInvitationProblems)
  async renewInvitation(
    @CurrentIdentity() identity: Identity,
    @PublicId('invitationId', 'invitation', renewInvitationProblems, 'InvitationNotFound') invitationId: string,
    @Body() { expiresInMs = defaultInvitation }: RenewInvitationBody,
    @Req() request: FastifyRequest,
  ): Promise<InvitationWithLinkView> {
    const url = requirePublicUrl(this.config, request);
    return withLink(url, respond(await this.commands.execute(new RenewInvitationCommand(identity, invitationId, expiresInMs)), renewInvitationProblems));
  }

  @Delete(':invitationId')
  @HttpCode(204)
  @Permit('members.create')
  @ApiOperation({ operationId: 'revokeInvitation', summary: 'Take an invitation back that nobody has accepted' })
  @ApiParam({ name: 'invitationId' })
  @ApiNoContentResponse()
  @ApiProblems(invitationProblems)
  async revokeInvitation(
    @CurrentIdentity() identity: Identity,
    @PublicId('invitationId', 'invitation', invitationProblems, 'InvitationNotFound') invitationId: string,
  ): Promise<void> {
    respond(await this.commands.execute(new RevokeInvitationCommand(identity, invitationId)), invitationProblems);
  }
}
