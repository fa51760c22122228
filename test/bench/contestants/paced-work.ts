import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, Workflow, type Next, type Saga, type Stored } from '@engine/saga.js';

/** One step every `everyMs`, each with `events` events that say when they were handed in, until `stopAt`. */
export type PacedCursor = { readonly everyMs: number; readonly events: number; readonly stopAt: number; readonly done: number };

class PacedStep {
  constructor(readonly run: PhaseRun<PacedCursor>) {}
}

@CommandHandler(PacedStep)
export class PacedStepHandler implements ICommandHandler<PacedStep> {
  async execute({ run }: PacedStep): Promise<void> {
    const { cursor } = run.execution;
    const step = cursor.done + 1;
    // Begun anywhere in the first pause, so that the executions do not all write in the same moment.
    if (step === 1) await delay(Math.random() * cursor.everyMs);
    for (let event = 0; event < cursor.events; event += 1) run.emit({ _tag: 'ToolResult', step, callId: String(Date.now()), status: 'completed' });
    await run.commit({ ...cursor, done: step });
    await delay(cursor.everyMs);
  }
}

@Workflow('paced', { version: 1 })
@Injectable()
export class PacedSaga implements Saga<PacedCursor> {
  next({ cursor }: Stored<PacedCursor>): Next {
    return Date.now() < cursor.stopAt ? phase(PacedStep) : end('completed');
  }
}
