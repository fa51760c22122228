import { Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { EventHub } from '@engine/reading/event-hub.js';
import { readRowsOf } from '@engine/reading/read-rows.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { CancelExecutionHandler } from './commands/cancel-execution.command.js';
import { DecideCallHandler } from './commands/decide-call.command.js';
import { ExecutionEventsController } from './http/execution-events.controller.js';
import { ExecutionsController } from './http/executions.controller.js';
import { AccessChecks } from './queries/access-checks.js';

@Module({
  controllers: [ExecutionsController, ExecutionEventsController],
  providers: [
    CancelExecutionHandler,
    DecideCallHandler,
    AccessChecks,
    { provide: EventHub, inject: [DataSource, Sealer, WakeChannel], useFactory: (db: DataSource, sealer: Sealer, wake: WakeChannel) => new EventHub(readRowsOf(db), sealer, wake) },
  ],
  exports: [EventHub],
})
export class ExecutionsModule {}
