import { CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { ok } from '@domain/result.js';
import { ProvisionBotCommand } from '@contexts/bots/public/provision-bot.command.js';
import { DefaultModelQuery } from '@contexts/models/public/default-model.query.js';
import { CreateOrganizationCommand } from '@contexts/organizations/public/create-organization.command.js';
import { Config } from '@platform/config/config.js';
import { transact } from '@platform/database/transact.js';
import { Authenticator } from '@platform/identity/authenticator.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { developmentOrganizationId } from '@platform/identity/development-organization.js';
import { IssueTokenCommand } from '../public/issue-token.command.js';
import { ProvisionDevelopmentCommand, type DevelopmentIdentity } from '../public/provision-development.command.js';
import { lockSettings, storeDefaultBot } from '../queries/settings.js';

const organization = { id: developmentOrganizationId, name: 'Development' };
const project = { id: '00000000-0000-7000-8000-000000000002', name: 'Default' };
const owner = { id: '00000000-0000-7000-8000-000000000003', name: 'Developer', email: null };
const context = { organizationId: organization.id, projectId: project.id };

@CommandHandler(ProvisionDevelopmentCommand)
export class ProvisionDevelopmentHandler implements ICommandHandler<ProvisionDevelopmentCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly authenticator: Authenticator,
    private readonly config: Config,
  ) {}

  async execute({ previousToken }: ProvisionDevelopmentCommand): Promise<DevelopmentIdentity> {
    if (this.config.production) throw new Error('the development identity does not exist in production');
    // That it exists is the usual outcome of a start, and after this either way true.
    await this.commands.execute(new CreateOrganizationCommand({ organization, project, owner }));
    const botId = await this.provisionBot();
    return {
      organizationId: toPublicId('organization', organization.id),
      projectId: toPublicId('project', project.id),
      memberId: toPublicId('member', owner.id),
      botId: toPublicId('bot', botId),
      token: await this.provisionToken(previousToken),
    };
  }

  /** The settings row orders starts at once: the second finds the bot of the first. */
  private async provisionBot(): Promise<string> {
    const model = await this.queries.execute(new DefaultModelQuery());
    const provisioned = await transact(this.db, context, async (tx) => {
      const settings = await lockSettings(tx, owner.id);
      const botId = await this.commands.execute(new ProvisionBotCommand(context, owner.id, settings.default_bot_id, model, tx));
      if (botId !== settings.default_bot_id) await storeDefaultBot(tx, owner.id, settings, botId);
      return ok(botId);
    });
    return provisioned.ok ? provisioned.value : provisioned.failure;
  }

  private async provisionToken(previous: string | null): Promise<string> {
    const identity = previous === null ? null : await this.authenticator.authenticate(previous, null);
    if (previous !== null && identity?.memberId === owner.id && identity.context.organizationId === organization.id) return previous;
    const issued = await this.commands.execute(new IssueTokenCommand(context, owner.id, { name: 'Development', expiresInMs: null }));
    return issued.token;
  }
}
