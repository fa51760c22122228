import { Injectable, type Type } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { CallOutcome, CallSafety, CallSpec } from '@engine/calls.js';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, Workflow, type Next, type Saga, type Stored } from '@engine/saga.js';

/** What a model may ask for, and what another process may do with a call whose answer was lost. */
export const tools = {
  find_trains: { safety: 'repeatable', effect: null },
  book_hotel: { safety: 'keyed', effect: ['hotel room booked', 'hotel rooms booked'] },
  charge_card: { safety: 'keyed', effect: ['card charged', 'cards charged'] },
  post_letter: { safety: 'unproven', effect: ['letter in the post', 'letters in the post'] },
} as const satisfies Readonly<Record<string, { readonly safety: CallSafety; readonly effect: readonly [one: string, many: string] | null }>>;
export type ToolName = keyof typeof tools;

/** The model's answer to one step: a tool, or the last word. */
export type ModelAnswer = { readonly tool: ToolName; readonly input: string } | { readonly answer: string };
/** Model steps asked, tool calls done: numbers only. What the model said is in the call log. */
export type ErrandCursor = { readonly asked: number; readonly done: number; readonly over: boolean; readonly outside: string };
export const errandWorkflow = { workflow: 'errand', version: 1 } as const;

export class AskModel {
  constructor(readonly run: PhaseRun<ErrandCursor>) {}
}
export class UseTool {
  constructor(readonly run: PhaseRun<ErrandCursor>) {}
}

/** The bot: it asks its model what to do, does it, and asks again. */
@Injectable()
@Workflow(errandWorkflow.workflow, { version: errandWorkflow.version })
export class ErrandSaga implements Saga<ErrandCursor> {
  next({ cursor }: Stored<ErrandCursor>): Next {
    if (cursor.over) return end('completed');
    return cursor.asked > cursor.done ? phase(UseTool) : phase(AskModel);
  }
}

async function post<T>(url: string, path: string, body: object, signal: AbortSignal): Promise<T> {
  const response = await fetch(url + path, { method: 'POST', body: JSON.stringify(body), signal });
  if (!response.ok) throw new Error(`the outside answered ${response.status}`);
  return (await response.json()) as T;
}

function resultOf<T>(outcome: CallOutcome<T>): T {
  if (outcome.kind !== 'result') throw new Error(`the call came back as ${outcome.kind}`);
  return outcome.result;
}

const modelCall = (step: number): CallSpec<ModelAnswer> => ({ step, name: 'model', kind: 'model', safety: 'repeatable' });

@CommandHandler(AskModel)
export class AskModelHandler implements ICommandHandler<AskModel> {
  async execute({ run }: AskModel): Promise<void> {
    const { cursor, id } = run.execution;
    const step = cursor.asked + 1;
    const said = resultOf(await run.call(modelCall(step), ({ signal }) => post<ModelAnswer>(cursor.outside, '/model', { execution: id, step }, signal)));
    if ('answer' in said) {
      run.emit({ _tag: 'Text', step, attempt: 1, delta: said.answer });
      return run.finish({ ...cursor, asked: step, done: step, over: true });
    }
    run.finish({ ...cursor, asked: step });
  }
}

@CommandHandler(UseTool)
export class UseToolHandler implements ICommandHandler<UseTool> {
  async execute({ run }: UseTool): Promise<void> {
    const { cursor, id } = run.execution;
    const step = cursor.asked;
    // Saved before the tool runs: asking again answers from the call log and sends nothing.
    const said = resultOf(await run.call(modelCall(step), () => Promise.reject(new Error('the model was asked twice'))));
    if ('answer' in said) throw new Error('an answer has no tool');
    const { safety } = tools[said.tool];
    resultOf(
      await run.call({ step, name: said.tool, kind: 'tool', safety }, ({ signal, providerKey }) =>
        post<object>(cursor.outside, '/tools', { execution: id, step, tool: said.tool, input: said.input, key: providerKey }, signal),
      ),
    );
    run.emit({ _tag: 'ToolResult', step, callId: said.tool, status: 'completed' });
    run.finish({ ...cursor, done: step });
  }
}

export const errandParts: Type[] = [ErrandSaga, AskModelHandler, UseToolHandler];
