import { newTurn, afterModelStep, afterToolCall } from '@core/turn.js';
import type { Sealer } from '@platform/secrets/sealer.js';
import { ModelStep } from './phases/model-step.js';
import { PrepareTurn } from './phases/prepare-turn.js';
import { RemindOfTodos } from './phases/remind-of-todos.js';
import { ToolStep } from './phases/tool-step.js';
import { InterruptSaga } from './interrupt.saga.js';
import { newTurnCursor, type TurnCursor } from './turn-cursor.js';
import { TurnSaga } from './turn.saga.js';

const now = new Date('2026-03-01T12:00:00Z');
const begun = { ...newTurnCursor('turn'), progress: newTurn(3) };
const answered = { ...begun, progress: afterModelStep(newTurn(3), 0) };
const called = { ...begun, progress: afterModelStep(newTurn(3), 2) };
const failure = { category: 'model_limited', errorId: 'error' };

const stored = <Cursor>(cursor: Cursor) => ({
  id: 'execution',
  context: { organizationId: 'o', projectId: 'p' },
  workflow: 'turn',
  state: 'running' as const,
  cursor,
  generation: 1,
  subjectId: 'chat',
  identityId: 'identity',
  parent: null,
  openChildren: 0,
});
const wake = { now, due: false, expired: false, signals: [] };

test.each<[string, TurnCursor, object]>([
  ['a new turn takes its inputs', newTurnCursor('turn'), { kind: 'phase', command: PrepareTurn }],
  ['then asks the model', begun, { kind: 'phase', command: ModelStep }],
  ['calls are run before the model is asked again', called, { kind: 'phase', command: ToolStep }],
  ['one by one', { ...called, progress: afterToolCall(called.progress) }, { kind: 'phase', command: ToolStep }],
  ['then the model reads the results', { ...called, progress: afterToolCall(afterToolCall(called.progress)) }, { kind: 'phase', command: ModelStep }],
  ['an answer ends the turn', answered, { kind: 'end', as: 'completed', failure: null }],
  ['unless todos are open', { ...answered, reminderDue: true }, { kind: 'phase', command: RemindOfTodos }],
  ['a provider that asked for patience gets it', { ...begun, retryAt: now.getTime() + 1 }, { kind: 'wait', until: new Date(now.getTime() + 1) }],
  ['until its time has come', { ...begun, retryAt: now.getTime() }, { kind: 'phase', command: ModelStep }],
  ['a saved failure ends the turn, whatever else is open', { ...called, failure }, { kind: 'end', as: 'failed', failure }],
])('%s', (_, cursor, expected) => {
  expect(new TurnSaga({} as Sealer).next(stored(cursor), wake)).toMatchObject(expected);
});

test.each([
  ['an interrupt of nothing is over at once', { turnId: null }, [], { kind: 'end', as: 'completed' }],
  ['one of a turn waits for its end', { turnId: 'turn' }, [], { kind: 'wait', until: null }],
  ['and for nothing else', { turnId: 'turn' }, ['call-result'], { kind: 'wait', until: null }],
  ['then it is over', { turnId: 'turn' }, ['turn-ended'], { kind: 'end', as: 'completed' }],
])('%s', (_, cursor, signals, expected) => {
  expect(new InterruptSaga().next(stored(cursor), { ...wake, signals: signals.map((name) => ({ name, number: 1, body: null })) })).toMatchObject(expected);
});
