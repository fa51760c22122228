import { Injectable, type Type } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { Pool } from 'pg';
import type { EndState } from '@domain/executions/state.js';
import { childIdOf, childrenEnded, type LockedParent, type NewChild } from '@engine/child.js';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, wait, Workflow, type Next, type Outcome, type Saga, type Stored, type Wake } from '@engine/saga.js';
import type { Tx } from '@engine/tx.js';
import { protectTable } from '@migrations/protect-table.js';

export type FamilyCursor = {
  readonly admitted?: boolean;
  readonly children?: readonly { readonly attached: boolean; readonly cursor: FamilyCursor }[];
  /** How the children are admitted. Default `commit`. */
  readonly by?: 'transact' | 'commit' | 'finish';
  /** Waits for the signal `go` before it does anything else; a parent does so when its children are there. */
  readonly holds?: boolean;
  /** What it ends as. Default `completed`; `throws`: by a fault. */
  readonly as?: EndState | 'throws';
  /** Fails with the failure of the first child that failed. */
  readonly failsWithChild?: boolean;
};

/** The notice of a child: a row without a key, so that one written twice is there twice. */
const statements = [
  `create table family_notice (execution_id uuid not null, organization_id uuid not null, project_id uuid not null, parent_id uuid, state text not null, parent_state text)`,
  ...protectTable('family_notice', 'project'),
];

export async function createFamilyFeature(superuser: Pool): Promise<void> {
  for (const statement of statements) await superuser.query(statement);
}

class AdmitChildren {
  constructor(readonly run: PhaseRun<FamilyCursor>) {}
}

@CommandHandler(AdmitChildren)
class AdmitChildrenHandler implements ICommandHandler<AdmitChildren> {
  async execute({ run }: AdmitChildren) {
    const { id, workflow, cursor } = run.execution;
    const next = { ...cursor, admitted: true };
    const children = (cursor.children ?? []).map(({ attached, cursor: below }, index): NewChild => ({
      id: childIdOf(id, `child ${index}`),
      attached,
      workflow,
      version: 1,
      cursor: below,
      subjectId: null,
      identityId: null,
    }));
    if (cursor.by === 'finish') run.finish(next, undefined, children);
    else if (cursor.by === 'transact')
      await run.transact(next, {}, async (tx) => {
        for (const child of children) await run.admit(tx, child);
      });
    else await run.commit(next, undefined, children);
  }
}

class Throw {
  constructor(readonly run: PhaseRun<FamilyCursor>) {}
}

@CommandHandler(Throw)
class ThrowHandler implements ICommandHandler<Throw> {
  execute(): Promise<never> {
    return Promise.reject(new Error('a fault'));
  }
}

/** Work that admits work of its own kind, under a name of its own. */
export function familySaga(name: string): Type {
  @Workflow(name, { version: 1 })
  @Injectable()
  class FamilySaga implements Saga<FamilyCursor> {
    next({ cursor }: Stored<FamilyCursor>, { signals }: Wake): Next {
      if (cursor.children && !cursor.admitted) return phase(AdmitChildren);
      if (cursor.holds && !signals.some(({ name: sent }) => sent === 'go')) return wait();
      const failure = childrenEnded(signals).find((child) => child.failure)?.failure;
      if (cursor.failsWithChild && failure) return end('failed', failure);
      if (cursor.as === 'throws') return phase(Throw);
      return end(cursor.as ?? 'completed');
    }

    async end(tx: Tx, { id, context }: Stored<FamilyCursor>, { as }: Outcome, parent: LockedParent | null): Promise<void> {
      await tx.query('insert into family_notice (execution_id, organization_id, project_id, parent_id, state, parent_state) values ($1, $2, $3, $4, $5, $6)', [
        id,
        context.organizationId,
        context.projectId,
        parent?.id ?? null,
        as,
        parent?.state ?? null,
      ]);
    }
  }
  return FamilySaga;
}

/** A child without an `end` of its own: the engine alone tells its parent. */
export function silentSaga(name: string): Type {
  @Workflow(name, { version: 1 })
  @Injectable()
  class SilentSaga implements Saga<FamilyCursor> {
    next(): Next {
      return end('completed');
    }
  }
  return SilentSaga;
}

export const familyHandlers: readonly Type[] = [AdmitChildrenHandler, ThrowHandler];
