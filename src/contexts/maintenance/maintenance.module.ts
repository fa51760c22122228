import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { StartMaintenanceCommand, StartMaintenanceHandler } from './commands/start-maintenance.command.js';
import { NodeSweepSaga } from './sagas/node-sweep.saga.js';
import { SweepNodesHandler } from './sagas/phases/sweep-nodes.js';

const everyMs = 3_600_000;

/** Needed wherever the engine is: the platform's own work runs there, on the worker's login. */
@Module({ providers: [StartMaintenanceHandler, NodeSweepSaga, SweepNodesHandler] })
export class MaintenanceWorkerModule implements OnApplicationBootstrap {
  constructor(private readonly commands: CommandBus) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.commands.execute(new StartMaintenanceCommand(everyMs));
  }
}
