import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, Workflow, type Next, type Saga, type Stored } from '@engine/saga.js';

export type NoOpCursor = { readonly steps: number; readonly done: number };

class NoOpStep {
  constructor(readonly run: PhaseRun<NoOpCursor>) {}
}

/** What the caller of this process may learn of its own work without the database. */
@Injectable()
export class NoOpWatch {
  readonly started = new Map<string, () => void>();
  readonly ending = new Set<string>();
}

/** `commit` and not `finish`: a step is durable before the next one begins. */
@CommandHandler(NoOpStep)
export class NoOpStepHandler implements ICommandHandler<NoOpStep> {
  constructor(private readonly watch: NoOpWatch) {}

  async execute({ run }: NoOpStep): Promise<void> {
    const { id, cursor } = run.execution;
    this.watch.started.get(id)?.();
    await run.commit({ ...cursor, done: cursor.done + 1 });
  }
}

@Workflow('no-op', { version: 1 })
@Injectable()
export class NoOpSaga implements Saga<NoOpCursor> {
  constructor(private readonly watch: NoOpWatch) {}

  next({ id, cursor }: Stored<NoOpCursor>): Next {
    if (cursor.done < cursor.steps) return phase(NoOpStep);
    this.watch.ending.add(id);
    return end('completed');
  }
}
