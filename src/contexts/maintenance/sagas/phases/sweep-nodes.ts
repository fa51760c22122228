import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { ok } from '@domain/result.js';
import type { PhaseResult, PhaseRun } from '@engine/phase.js';
import type { NodeSweepCursor } from '../node-sweep.js';

export class SweepNodes {
  constructor(readonly run: PhaseRun<NodeSweepCursor>) {}
}

type NodeRow = { readonly name: string; readonly beat: string };

@CommandHandler(SweepNodes)
export class SweepNodesHandler implements ICommandHandler<SweepNodes> {
  constructor(@InjectDataSource('worker') private readonly db: DataSource) {}

  async execute({ run }: SweepNodes): PhaseResult {
    const { everyMs, seen } = run.execution.cursor;
    const nodes = await this.db.query<NodeRow[]>(`select name, epoch || ':' || beat as beat from node order by name`);
    const gone = nodes.filter(({ name, beat }) => seen[name] === beat);
    const left = nodes.filter((node) => !gone.includes(node));
    const cursor = { everyMs, nextAt: run.wake.now.getTime() + everyMs, seen: Object.fromEntries(left.map(({ name, beat }) => [name, beat])) };
    // Named with its beat: a process that came back under the name in the meantime is not the one that is gone.
    await run.transact(cursor, {}, (tx) =>
      tx.query(`delete from node n using unnest($1::text[], $2::text[]) gone(name, beat) where n.name = gone.name and n.epoch || ':' || n.beat = gone.beat`, [
        gone.map(({ name }) => name),
        gone.map(({ beat }) => beat),
      ]),
    );
    return ok(undefined);
  }
}
