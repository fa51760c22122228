import { Violation } from '../violation.js';
import { untilAnswered, type Scene } from '../stage.js';

const writers = 3;
const each = 2;

const feed: Scene = {
  name: 'a feed that is numbered while events commit, read at every moment',
  async play(stage) {
    const { organizationId, projectId } = stage.tenant;
    const aggregates: string[] = [];
    for (let writer = 1; writer <= writers; writer += 1) aggregates.push(await stage.probe());
    for (let writer = 1; writer <= writers; writer += 1)
      stage.actor(`writer${writer}`, async ({ within }) => {
        for (let sequence = 1; sequence <= each; sequence += 1)
          // The aggregate's lock orders its writers, also behind a COMMIT that is still on its way.
          await within(async (tx) => {
            await tx.query('select "feature_lock_probe"($1::uuid[], false)', [[aggregates[writer - 1]]]);
            await tx.query(
              `insert into product_event_inbox (organization_id, project_id, member_id, type, aggregate_id, aggregate_sequence) values ($1, $2, $3, 'scene', $4, $5)`,
              [organizationId, projectId, stage.id(0xe0), aggregates[writer - 1], sequence],
            );
          }).catch(() => undefined);
      });
    for (const node of ['n1', 'n2'])
      stage.actor(node, async ({ storage }) => {
        for (let times = 0; times < 4; times += 1) await untilAnswered(() => storage.query({ text: 'select * from sequence_feed($1)', values: [node === 'n1' ? 2 : 100] }));
      });
    let read = 0;
    stage.actor('reader', async ({ storage }) => {
      const page = JSON.stringify([{ organization: organizationId, id: projectId, project: projectId, after: 0, limit: 100 }]);
      for (let times = 0; times < 6; times += 1) {
        const { rows } = await untilAnswered(() => storage.query({ text: 'select position from read_feed($1::jsonb)', values: [page] }));
        const positions = rows.map((row) => Number((row as { position: string }).position));
        // What was passed by is never filled in later.
        if (positions.some((position, index) => position !== index + 1) || positions.length < read) throw new Violation(this.name, positions.join());
        read = positions.length;
      }
    });
    await stage.curtain();
    await stage.ask('select * from sequence_feed(100)');
    const left = await stage.ask('select 1 from product_event_inbox where organization_id = $1', [organizationId]);
    const numbered = await stage.ask<{ aggregate_id: string; aggregate_sequence: number }>(
      'select aggregate_id, aggregate_sequence from product_event where organization_id = $1 order by position',
      [organizationId],
    );
    const order = new Map<string, number>();
    for (const { aggregate_id: id, aggregate_sequence: sequence } of numbered) {
      if (sequence < (order.get(id) ?? 0)) throw new Violation(this.name, JSON.stringify(numbered));
      order.set(id, sequence);
    }
    if (left.length > 0) throw new Violation(this.name, `${left.length} events have no position`);
  },
};

export const feedScenes: readonly Scene[] = [feed];
