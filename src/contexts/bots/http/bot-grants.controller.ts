import { Body, Controller, Get, Put } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { fail } from '@domain/result.js';
import { read } from '@platform/database/transact.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { SetBotGrantsCommand } from '../commands/set-bot-grants.command.js';
import { readGrants, type BotGrants, type Grant } from '../queries/grants.js';
import { GrantsView, SetGrantsBody, type GrantBody } from './bot-grants.dto.js';
import { readGrantsProblems, setGrantsProblems } from './bots.problems.js';

const toGrantsView = ({ revision, grants }: BotGrants): GrantsView => ({
  revision,
  grants: grants.map(({ memberId, rights }) => ({ member: toPublicId('member', memberId), rights: [...rights] })),
});

/** A malformed member id is one that nobody has. */
function toGrant({ member, rights }: GrantBody, index: number): Grant {
  const memberId = fromPublicId('member', member);
  return memberId === null ? respond(fail({ _tag: 'GrantInvalid', field: `grants[${index}].member`, member }), setGrantsProblems) : { memberId, rights };
}

@ApiTags('Bots')
@Controller('v1/bots/:botId/grants')
export class BotGrantsController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  @Get()
  @Permit('bots.share')
  @ApiOperation({ operationId: 'readBotGrants', summary: 'Read who may use a bot' })
  @ApiParam({ name: 'botId' })
  @ApiOkResponse({ type: GrantsView })
  @ApiProblems(readGrantsProblems)
  async readGrants(@CurrentIdentity() identity: Identity, @PublicId('botId', 'bot', readGrantsProblems, 'BotNotFound') botId: string): Promise<GrantsView> {
    return toGrantsView(respond(await read(this.db, identity.context, (tx) => readGrants(tx, identity, botId)), readGrantsProblems));
  }

  @Put()
  @Permit('bots.share')
  @ApiOperation({ operationId: 'setBotGrants', summary: 'Set who may use a bot', description: 'Only its owner and the owners of the organization may share a bot.' })
  @ApiParam({ name: 'botId' })
  @ApiOkResponse({ type: GrantsView })
  @ApiProblems(setGrantsProblems)
  async setGrants(
    @CurrentIdentity() identity: Identity,
    @PublicId('botId', 'bot', setGrantsProblems, 'BotNotFound') botId: string,
    @Body() { expected, grants }: SetGrantsBody,
  ): Promise<GrantsView> {
    const result = await this.commands.execute(new SetBotGrantsCommand(identity, botId, expected, grants.map(toGrant)));
    return toGrantsView(respond(result, setGrantsProblems));
  }
}
