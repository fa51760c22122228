import { Body, Controller, Get, Patch } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { fail } from '@domain/result.js';
import { read } from '@platform/database/transact.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { ChangeSettingsCommand } from '../commands/change-settings.command.js';
import { loadSettings, showSettings } from '../queries/settings.js';
import { ChangeSettingsBody, SettingsView, toSettingsView } from './sign-in.dto.js';
import { changeSettingsProblems } from './sign-in.problems.js';

@ApiTags('Me')
@Controller('v1/me/settings')
export class SettingsController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  @Get()
  @Permit('me.read')
  @ApiOperation({ operationId: 'readSettings', summary: 'Read your settings' })
  @ApiOkResponse({ type: SettingsView })
  @ApiProblems()
  async readSettings(@CurrentIdentity() identity: Identity): Promise<SettingsView> {
    const shown = await read(this.db, identity.context, async (tx) => showSettings(tx, this.queries, identity, await loadSettings(tx, identity.memberId)));
    return toSettingsView(shown);
  }

  @Patch()
  @Permit('me.change')
  @ApiOperation({ operationId: 'changeSettings', summary: 'Change your settings' })
  @ApiOkResponse({ type: SettingsView })
  @ApiProblems(changeSettingsProblems)
  async changeSettings(@CurrentIdentity() identity: Identity, @Body() body: ChangeSettingsBody): Promise<SettingsView> {
    const defaultBot = typeof body.defaultBot === 'string' ? fromPublicId('bot', body.defaultBot) : body.defaultBot;
    // A malformed id is a missing one.
    if (typeof body.defaultBot === 'string' && defaultBot === null) return respond(fail({ _tag: 'BotNotFound' }), changeSettingsProblems);
    const result = await this.commands.execute(new ChangeSettingsCommand(identity, { expectedVersion: body.expectedVersion, defaultBot }));
    return toSettingsView(respond(result, changeSettingsProblems));
  }
}
