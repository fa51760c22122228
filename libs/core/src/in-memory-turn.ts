import type { FunctionCallOutput, ItemContent } from '@domain/chats/items.js';
import { historyFor } from './history.js';
import { callsOf, type FinishReason, type Model, type ModelFailure, type ModelRequest, type TokenUsage } from './model.js';
import { isFailure, runModelStep, type FinishedStep, type ModelDelta, type StepOutcome } from './model-step.js';
import { retryDelayMs, type RetryPolicy, type Sleep } from './retry.js';
import type { ResultLimits } from './result-limit.js';
import type { Tool } from './tool.js';
import { runToolStep } from './tool-step.js';
import { afterModelFailure, afterModelStep, afterReminder, afterToolCall, newTurn, nextOfTurn, type StopReason, type TurnProgress } from './turn.js';
import { addUsage } from './usage.js';

/** A new attempt begins a text of its own: deltas of different attempts are never joined. */
export type HostDelta = ModelDelta & { readonly step: number; readonly attempt: number };

/** What a turn runs with. `reminder` gives the text of a todo notice that is due now, once for each state of the list. */
export type TurnSetup = {
  readonly model: Model;
  readonly request: Omit<ModelRequest, 'history' | 'tools'>;
  readonly tools: readonly Tool[];
  readonly stepLimit: number;
  readonly resultLimits: ResultLimits;
  readonly retries: RetryPolicy;
  readonly sleep: Sleep;
  readonly random: () => number;
  readonly reminder: { readonly isDue: () => boolean; readonly take: () => string };
  readonly signal: AbortSignal;
  readonly onDelta: (delta: HostDelta) => void | Promise<void>;
};

export type ToolFault = { readonly step: number; readonly callId: string; readonly name: string; readonly cause: unknown };

/** How a turn went. `usage` adds what the provider confirmed; `null` where it confirmed nothing. */
export type TurnRecord = {
  readonly status: 'completed' | 'stopped' | 'failed' | 'cancelled';
  readonly reason: StopReason | null;
  readonly steps: number;
  readonly usage: TokenUsage | null;
  readonly finishReason: FinishReason | null;
  readonly failure: ModelFailure | null;
  readonly faults: readonly ToolFault[];
};

type Running = {
  turn: TurnProgress;
  step: FinishedStep | null;
  usage: TokenUsage | null;
  failure: ModelFailure | null;
  readonly faults: ToolFault[];
};

/** Runs one turn over `items`, the whole conversation with the new input at its end, and adds to it what comes of it. */
export async function runTurn(setup: TurnSetup, items: ItemContent[]): Promise<TurnRecord> {
  const running: Running = { turn: newTurn(setup.stepLimit), step: null, usage: null, failure: null, faults: [] };
  const ended = (status: TurnRecord['status'], reason: StopReason | null = null): TurnRecord => {
    const { turn, step, usage, failure, faults } = running;
    return { status, reason, steps: turn.stepsTaken, usage, finishReason: step?.finishReason ?? null, failure, faults };
  };

  while (!setup.signal.aborted) {
    const next = nextOfTurn(running.turn, { reminderDue: setup.reminder.isDue() });
    switch (next._tag) {
      case 'ModelStep':
        items.push(...(await askModel(setup, running, items)));
        break;
      case 'ToolCall':
        items.push(...(await callTool(setup, running, next.index)));
        break;
      case 'TodoReminder':
        items.push({ type: 'message', role: 'user', content: [{ type: 'input_text', text: setup.reminder.take() }] });
        running.turn = afterReminder(running.turn);
        break;
      case 'Finish':
        return ended('completed');
      case 'Stop':
        return ended(next.reason === 'step-limit' ? 'stopped' : 'failed', next.reason);
    }
  }
  return ended('cancelled');
}

async function askModel(setup: TurnSetup, running: Running, items: readonly ItemContent[]): Promise<readonly ItemContent[]> {
  const outcome = await stepWithRetries(setup, running, historyFor(setup.model.provider, items));
  if (!isFailure(outcome)) {
    running.step = outcome;
    running.turn = afterModelStep(running.turn, callsOf(outcome.items).length);
    return outcome.items;
  }
  // What fails after an abort fails because of it: the turn is cancelled, not failed.
  if (setup.signal.aborted) return [];
  running.failure = outcome;
  running.turn = afterModelFailure(running.turn);
  return [];
}

async function stepWithRetries(setup: TurnSetup, running: Running, history: readonly ItemContent[]): Promise<StepOutcome> {
  const { model, signal } = setup;
  const request = { ...setup.request, history, tools: setup.tools.map(({ definition }) => definition) };
  const step = running.turn.stepsTaken + 1;
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await runModelStep(model, request, signal, (delta) => setup.onDelta({ ...delta, step, attempt }));
    running.usage = addUsage(running.usage, outcome.usage);
    if (!isFailure(outcome) || signal.aborted) return outcome;
    const delayMs = retryDelayMs(outcome, attempt, setup.random(), setup.retries);
    if (delayMs === null) return outcome;
    await setup.sleep(delayMs, signal);
  }
}

/** Nothing is returned for a call that was aborted: the model will read that its result is missing. */
async function callTool(setup: TurnSetup, running: Running, index: number): Promise<readonly FunctionCallOutput[]> {
  const { tools, signal, resultLimits: limits } = setup;
  const calls = callsOf(running.step?.items ?? []);
  const { callId, name } = calls[index]!;
  const step = running.turn.stepsTaken;
  const outcome = await runToolStep({ tools, calls, index, context: { callId, step, signal }, limits });
  if (outcome._tag === 'Aborted') return [];
  if (outcome.cause !== null) running.faults.push({ step, callId, name, cause: outcome.cause });
  running.turn = afterToolCall(running.turn);
  return [outcome.output];
}
