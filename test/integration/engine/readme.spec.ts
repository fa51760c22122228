import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compileFunction } from 'node:vm';
import * as nest from '@nestjs/common';
import { CommandHandler } from '@nestjs/cqrs';
import { transformSync } from '@swc/core';
import { Pool } from 'pg';
import * as result from '@domain/result.js';
import * as saga from '@engine/saga.js';
import { endStates, executionMoves, executionStates, type ExecutionState } from '@domain/executions/state.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, rowsOf, signal, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';

const modules: Readonly<Record<string, unknown>> = { '@nestjs/common': nest, '@nestjs/cqrs': { CommandHandler }, '@domain/result.js': result, '@engine/saga.js': saga };
const readme = readFileSync(join(__dirname, '../../../libs/engine/README.md'), 'utf8');
const blockOf = (language: string): string => new RegExp('```' + language + '\n(.*?)```', 's').exec(readme)?.[1] ?? '';
const lists = (text: string): string[][] => [...text.matchAll(/'\{([a-z_,]+)\}'/g)].map(([, list = '']) => list.split(',').sort());

let database: TestDatabase;
let superuser: Pool;
beforeAll(async () => {
  database = await openTestDatabase();
  superuser = new Pool({ connectionString: database.url });
});
afterAll(async () => {
  await superuser.end();
  await database.close();
});

test('the diagram, the table of moves and the constraints of the database say the same', async () => {
  const arrows = [...blockOf('mermaid').matchAll(/^ +(\S+) --> ([^:\s]+)/gm)].map(([, from = '', to = '']) => [from, to] as const);
  const drawn = arrows.filter(([from, to]) => from !== '[*]' && to !== '[*]').map(([from, to]) => `${from} ${to}`);
  const moves = Object.entries(executionMoves).flatMap(([from, into]) => into.map((to) => `${from} ${to}`));
  expect(drawn.sort()).toEqual(moves.sort());
  expect(arrows.filter(([, to]) => to === '[*]').map(([from]) => from).sort()).toEqual([...endStates].sort()); // prettier-ignore
  expect(arrows.filter(([from]) => from === '[*]')).toEqual([['[*]', 'queued']]);
  for (const state of endStates) expect(executionMoves[state as ExecutionState]).toEqual([]);

  const constraint = async (name: string): Promise<string> =>
    (await rowsOf<{ text: string }>(superuser, 'select pg_get_constraintdef(oid) as text from pg_constraint where conname = $1', [name]))[0]?.text ?? '';
  expect(lists(await constraint('execution_state_known'))).toEqual([[...executionStates].sort()]);
  expect(lists(await constraint('execution_end_is_marked'))).toEqual([[...endStates].sort()]);
});

describe('the workflow of the README', () => {
  type Bank = { charge(order: string, card: number, key: string): Promise<{ declined: boolean }> };
  let engine: EngineHarness;
  const charges: string[] = [];
  const tenant = newTenant();

  beforeAll(async () => {
    const source = blockOf('ts');
    expect(source.split('\n').length).toBeLessThanOrEqual(64);
    const parser = { syntax: 'typescript', decorators: true } as const;
    const jsc = { target: 'es2023', parser, transform: { legacyDecorator: true, decoratorMetadata: true }, keepClassNames: true } as const;
    const { code } = transformSync(source, { swcrc: false, configFile: false, jsc, module: { type: 'commonjs' } });
    const exported: Record<string, nest.Type> = {};
    // Its metadata must be where Nest looks for it: in the globals of the tests.
    compileFunction(code, ['require', 'exports', 'Reflect'])((name: string) => modules[name], exported, Reflect);
    const bank: Bank = {
      charge: (order, card, key) => {
        charges.push(`${order} ${card} ${key.split(':').slice(1).join(':')}`);
        if (order === 'order-9') return Promise.reject(new Error('the bank is away'));
        return Promise.resolve({ declined: card === 1 });
      },
    };
    const { PaymentSaga, ChargeCardHandler, Bank } = exported as { PaymentSaga: nest.Type; ChargeCardHandler: nest.Type; Bank: nest.Type };
    engine = await startEngine(database, [PaymentSaga, ChargeCardHandler], { providers: [{ provide: Bank, useValue: bank }] });
  });
  afterAll(() => engine.stop());

  test('a declined card waits for a new one, and each is charged once', async () => {
    const cursor = { order: 'order-7', card: 0, paid: false, giveUpAt: 4_102_444_800_000 };
    const id = await admit(database, tenant, 'payment', cursor);
    const head = async () => (await rowsOf<{ state: string; cursor: object }>(superuser, 'select state, cursor from execution where id = $1', [id]))[0]!;
    await eventually(head, ({ state }) => state === 'waiting');
    await signal(database, tenant, id, 'new-card');
    expect(await eventually(head, ({ state }) => state === 'completed')).toMatchObject({ cursor: { card: 2, paid: true } });
    expect(charges).toEqual(['order-7 1 1:charge', 'order-7 2 2:charge']);
    expect(engine.errors).toEqual([]);
  });

  test('a bank that cannot be reached fails it with the error id under which the cause is kept', async () => {
    const id = await admit(database, tenant, 'payment', { order: 'order-9', card: 0, paid: false, giveUpAt: 4_102_444_800_000 });
    const [head] = await eventually(
      () => rowsOf(superuser, 'select state, failure_category, error_id, cursor from execution where id = $1', [id]),
      ([row]) => row?.['ended_at'] !== null && row?.['state'] === 'failed',
    );
    expect(engine.errors.filter(({ executionId }) => executionId === id)).toEqual([
      expect.objectContaining({ cause: expect.objectContaining({ message: 'the bank is away' }) as Error }),
    ]);
    expect(head).toMatchObject({ cursor: { card: 1, failure: { category: head!['failure_category'], errorId: head!['error_id'] } } });
  });

  test('it gives up when its time has passed', async () => {
    const id = await admit(database, tenant, 'payment', { order: 'order-8', card: 1, paid: false, giveUpAt: 1_000 });
    const state = () => rowsOf<{ state: string }>(superuser, 'select state from execution where id = $1', [id]);
    await eventually(state, ([row]) => row?.state === 'cancelled');
  });
});
