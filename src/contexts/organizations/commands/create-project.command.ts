import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { ExecutionKeyConflict } from '@domain/executions/failures.js';
import { ok, type Result } from '@domain/result.js';
import { settleCommand, takeCommand, type KeyedCommand } from '@engine/admit.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { LockRightsCommand } from '../public/lock-rights.command.js';
import { insertProjectRole } from '../queries/project-roles.js';

export type ProjectReceipt = { readonly projectId: string; readonly revision: number };

/** Makes a project together with its maker's role in it. `command: null`: the request carried no key, so that sending it again makes another project. */
export class CreateProjectCommand extends Command<Result<ProjectReceipt, ExecutionKeyConflict>> {
  constructor(
    readonly identity: Identity,
    readonly command: KeyedCommand | null,
    readonly name: string,
  ) {
    super();
  }
}

@CommandHandler(CreateProjectCommand)
export class CreateProjectHandler implements ICommandHandler<CreateProjectCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  execute({ identity, command, name }: CreateProjectCommand): Promise<Result<ProjectReceipt, ExecutionKeyConflict>> {
    return transact<Result<ProjectReceipt, ExecutionKeyConflict>>(this.db, identity.context, async (tx) => {
      const taken = command && (await takeCommand<ProjectReceipt>(tx, command));
      if (taken && !taken.ok) return taken;
      if (taken?.value) return ok(taken.value);
      await this.commands.execute(new LockRightsCommand(tx, identity, 'projects.create'));
      const id = uuidv7();
      await tx.query(`insert into project (organization_id, id, name) values (tenant_organization(), $1, $2)`, [id, name]);
      await insertProjectRole(tx, id, { memberId: identity.memberId, role: 'admin' });
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'project.created', target: id, detail: {} }));
      const receipt = { projectId: id, revision: 1 };
      return ok(command ? await settleCommand(tx, command, receipt) : receipt);
    });
  }
}
