import { appendFileSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Injectable, type Type } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { PhaseRun } from '@engine/phase.js';
import type { LostLease, Physical } from '@engine/run-scope.js';
import { end, phase, Workflow, type Next, type Saga, type Stored } from '@engine/saga.js';
import { eventually } from '@test/support/eventually.js';

/** While the file `<name>.stuck` is there, the thing does not close. While `<name>.busy` is, its work goes on. */
export type LeaseCursor = {
  /** The things of this world are files in it: one that is opened twice fails. */
  readonly yard: string;
  readonly name: string;
  readonly proves?: boolean;
  readonly outcome: string | null;
};

const note = (yard: string, line: string): void => appendFileSync(join(yard, 'diary'), `${line}\n`);

function thingOf({ yard, name, proves }: LeaseCursor, generation: number): Physical<string> {
  const path = join(yard, name);
  return {
    open: (lease) => {
      writeFileSync(path, lease, { flag: 'wx' });
      note(yard, `open ${name} ${generation}`);
      return Promise.resolve(path);
    },
    close: () => {
      if (existsSync(`${path}.stuck`)) return Promise.reject(new Error(`${name} is stuck`));
      rmSync(path);
      note(yard, `close ${name} ${generation}`);
      return Promise.resolve();
    },
    ...(proves ? { proveReleased: (_lost: LostLease) => Promise.resolve(!existsSync(path)) } : {}),
  };
}

export class LeasePhase {
  constructor(readonly run: PhaseRun<LeaseCursor>) {}
}

@CommandHandler(LeasePhase)
export class LeaseHandler implements ICommandHandler<LeasePhase> {
  async execute({ run }: LeasePhase) {
    const { cursor, generation } = run.execution;
    const leased = await run.scope.lease({ kind: 'thing', name: cursor.name }, thingOf(cursor, generation));
    if (leased.ok) await eventually(() => run.signal.aborted || !existsSync(join(cursor.yard, `${cursor.name}.busy`)));
    run.signal.throwIfAborted();
    run.finish({ ...cursor, outcome: leased.ok ? 'taken' : leased.failure.state });
  }
}

/** Takes its thing once and ends, whatever it was answered. */
export function leaseSaga(name: string): Type {
  @Workflow(name, { version: 1 })
  @Injectable()
  class LeaseSaga implements Saga<LeaseCursor> {
    next({ cursor }: Stored<LeaseCursor>): Next {
      return cursor.outcome === null ? phase(LeasePhase) : end('completed');
    }
  }
  return LeaseSaga;
}
