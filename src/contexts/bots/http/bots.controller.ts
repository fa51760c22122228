import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreatedResponse, ApiHeader, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { fail, ok } from '@domain/result.js';
import { read } from '@platform/database/transact.js';
import { IdempotencyKey } from '@platform/http/idempotency-key.js';
import { pageOf } from '@platform/http/paging.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { PublicId } from '@platform/http/public-id.js';
import { keyed } from '@platform/identity/command-key.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { ChangeBotCommand } from '../commands/change-bot.command.js';
import { CreateBotCommand } from '../commands/create-bot.command.js';
import { DeleteBotCommand } from '../commands/delete-bot.command.js';
import { findReadableBot, listReadableBots } from '../queries/bots.js';
import { toBotView, toListedBotView, toReceiptView, toSelection } from './bot.view.js';
import { BotPage, BotReceiptView, BotsQuery, BotView, ChangeBotBody, CreateBotBody, DeleteBotQuery } from './bots.dto.js';
import { changeBotProblems, createBotProblems, deleteBotProblems, readBotProblems } from './bots.problems.js';

@ApiTags('Bots')
@Controller('v1/bots')
export class BotsController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly sealer: Sealer,
  ) {}

  @Post()
  @Permit('bots.create')
  @ApiOperation({ operationId: 'createBot', summary: 'Create a bot', description: 'You own it. The answer to a retry with the same key is the first one.' })
  @ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    schema: { type: 'string', minLength: 1, maxLength: 128 },
    description: 'Names this request, so that a retry makes no second bot.',
  })
  @ApiCreatedResponse({ type: BotReceiptView })
  @ApiProblems(createBotProblems)
  async createBot(@CurrentIdentity() identity: Identity, @IdempotencyKey() key: string | null, @Body() body: CreateBotBody): Promise<BotReceiptView> {
    const wanted = { name: body.name, instructions: body.instructions ?? '', model: body.model ? toSelection(body.model) : null, maxSteps: body.maxSteps ?? null };
    const command = key === null ? null : await keyed(this.sealer, identity, key, { command: 'createBot', project: identity.context.projectId, ...wanted });
    return toReceiptView(respond(await this.commands.execute(new CreateBotCommand(identity, command, wanted)), createBotProblems));
  }

  @Get()
  @Permit('bots.read')
  @ApiOperation({ operationId: 'listBots', summary: 'List the bots that you may use, oldest first' })
  @ApiOkResponse({ type: BotPage })
  @ApiProblems()
  async listBots(@CurrentIdentity() identity: Identity, @Query() query: BotsQuery): Promise<BotPage> {
    const page = { after: query.after === undefined ? null : fromPublicId('bot', query.after), limit: query.limit + 1 };
    const rows = await read(this.db, identity.context, (tx) => listReadableBots(tx, identity, page));
    return pageOf(rows, query.limit, toListedBotView, ({ bot }) => toPublicId('bot', bot.id));
  }

  @Get(':botId')
  @Permit('bots.read')
  @ApiOperation({ operationId: 'readBot', summary: 'Read a bot' })
  @ApiParam({ name: 'botId' })
  @ApiOkResponse({ type: BotView })
  @ApiProblems(readBotProblems)
  async readBot(@CurrentIdentity() identity: Identity, @PublicId('botId', 'bot', readBotProblems, 'BotNotFound') botId: string): Promise<BotView> {
    const key = await this.sealer.keyOf(identity.context.organizationId);
    const found = await read(this.db, identity.context, (tx) => findReadableBot(tx, identity, botId));
    return toBotView(key, respond(found ? ok(found) : fail({ _tag: 'BotNotFound' as const }), readBotProblems));
  }

  @Patch(':botId')
  @Permit('bots.change')
  @ApiOperation({ operationId: 'changeBot', summary: 'Change a bot', description: 'What the body leaves out stays. A running turn goes on with what it began with.' })
  @ApiParam({ name: 'botId' })
  @ApiOkResponse({ type: BotView })
  @ApiProblems(changeBotProblems)
  async changeBot(
    @CurrentIdentity() identity: Identity,
    @PublicId('botId', 'bot', changeBotProblems, 'BotNotFound') botId: string,
    @Body() { model, ...body }: ChangeBotBody,
  ): Promise<BotView> {
    const key = await this.sealer.keyOf(identity.context.organizationId);
    const change = { ...body, model: model && toSelection(model) };
    return toBotView(key, respond(await this.commands.execute(new ChangeBotCommand(identity, botId, change)), changeBotProblems));
  }

  @Delete(':botId')
  @HttpCode(204)
  @Permit('bots.delete')
  @ApiOperation({ operationId: 'deleteBot', summary: 'Delete a bot' })
  @ApiParam({ name: 'botId' })
  @ApiNoContentResponse()
  @ApiProblems(deleteBotProblems)
  async deleteBot(
    @CurrentIdentity() identity: Identity,
    @PublicId('botId', 'bot', deleteBotProblems, 'BotNotFound') botId: string,
    @Query() { expected }: DeleteBotQuery,
  ): Promise<void> {
    respond(await this.commands.execute(new DeleteBotCommand(identity, botId, expected)), deleteBotProblems);
  }
}
