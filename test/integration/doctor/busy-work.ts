import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, wait, Workflow, type Next, type Saga, type Stored, type Wake } from '@engine/saga.js';

export type BusyCursor = { readonly steps: number; readonly done: number; readonly rests: boolean };

export class BusyPhase {
  constructor(readonly run: PhaseRun<BusyCursor>) {}
}

/** A step with a call and some text. Between two steps it rests where its cursor says so, so that timers and claims are in play as well. */
@CommandHandler(BusyPhase)
export class BusyHandler implements ICommandHandler<BusyPhase> {
  async execute({ run }: BusyPhase) {
    const { cursor } = run.execution;
    const step = cursor.done + 1;
    const outcome = await run.call({ step, name: 'call', kind: 'test', safety: 'repeatable' }, async () => ({ said: 'content' }));
    run.emit({ _tag: 'Text', step, attempt: outcome.attempt, delta: 'content' });
    run.finish({ ...cursor, done: step });
  }
}

@Workflow('busy', { version: 1 })
@Injectable()
export class BusySaga implements Saga<BusyCursor> {
  next({ cursor }: Stored<BusyCursor>, wake: Wake): Next {
    if (cursor.done >= cursor.steps) return end('completed');
    const rested = !cursor.rests || wake.due || cursor.done === 0;
    return rested ? phase(BusyPhase) : wait({ until: new Date(wake.now.getTime() + 20) });
  }
}
