import type { FunctionCall, FunctionCallOutput } from '@domain/chats/items.js';
import { storableItem } from '@domain/chats/storable-item.js';
import { fail, ok, type Result } from '@domain/result.js';
import { readArguments } from './call-arguments.js';
import { firstMismatch } from './json-schema.js';
import { defaultResultLimits, limitResult, type ResultLimits } from './result-limit.js';
import { failed, type Tool, type ToolArguments, type ToolContext, type ToolResult } from './tool.js';

/** Why a call does not run. `message` tells the model what to change. */
export type CallRefused = { readonly _tag: 'UnknownTool' | 'DuplicateCallId' | 'ArgumentsInvalid'; readonly message: string };

const named = (name: string): string => JSON.stringify(name.slice(0, 100));
const refused = (_tag: CallRefused['_tag'], message: string) => fail<CallRefused>({ _tag, message });

/** Decides whether call `index` of a step may run. Of calls with the same id the first one does. */
export function admitCall<T extends Pick<Tool, 'definition'>>(
  tools: readonly T[],
  calls: readonly FunctionCall[],
  index: number,
): Result<{ readonly tool: T; readonly args: ToolArguments }, CallRefused> {
  const call = calls[index]!;
  if (calls.findIndex(({ callId }) => callId === call.callId) < index)
    return refused('DuplicateCallId', `The call id ${named(call.callId)} is used twice in this step. The first call ran; this one did not.`);
  const tool = tools.find(({ definition }) => definition.name === call.name);
  if (!tool) {
    const names = tools.map(({ definition }) => definition.name).slice(0, 100);
    return refused('UnknownTool', `There is no tool ${named(call.name)}. ${names.length === 0 ? 'There are no tools.' : `Tools: ${names.join(', ')}.`}`);
  }
  const args = readArguments(call.arguments);
  if (!args.ok) return refused('ArgumentsInvalid', args.failure);
  const mismatch = firstMismatch(tool.definition.parameters, args.value);
  if (!mismatch) return ok({ tool, args: args.value });
  return refused('ArgumentsInvalid', `${mismatch.path === '' ? 'The arguments object' : `The argument ${named(mismatch.path)}`} ${mismatch.message}.`);
}

/**
 * `cause` is what the tool threw: for the error record, never for the model or a client. `Aborted`: the call ended without a result
 * because `signal` aborted; whether it had an effect is not known here.
 */
export type ToolStepOutcome = { readonly _tag: 'Returned'; readonly output: FunctionCallOutput; readonly cause: unknown } | { readonly _tag: 'Aborted' };

export type ToolStep<Context extends ToolContext> = {
  readonly tools: readonly Tool<Context>[];
  /** All calls of the model step, and which of them to run. */
  readonly calls: readonly FunctionCall[];
  readonly index: number;
  readonly context: Context;
  readonly limits?: ResultLimits;
};

/** Runs one call of a step. A call that may not run and a tool that throws become failed outputs: the model reads them and goes on. */
export async function runToolStep<Context extends ToolContext>(step: ToolStep<Context>): Promise<ToolStepOutcome> {
  const { context, index, limits = defaultResultLimits } = step;
  const call = step.calls[index]!;
  const returned = (result: ToolResult, cause: unknown = null): ToolStepOutcome => ({
    _tag: 'Returned',
    output: storableItem({ type: 'function_call_output', callId: call.callId, ...limitResult(result, limits) }),
    cause,
  });

  if (context.signal.aborted) return { _tag: 'Aborted' };
  const admitted = admitCall(step.tools, step.calls, index);
  if (!admitted.ok) return returned(failed(admitted.failure.message));
  try {
    return returned(resultOf(await admitted.value.tool.run(admitted.value.args, context)));
  } catch (cause) {
    if (context.signal.aborted) return { _tag: 'Aborted' };
    return returned(failed(`The tool ${named(call.name)} failed with an error of its own. Whether it had an effect is not known.`), cause);
  }
}

/** A tool may be somebody's plain JavaScript: what is no result counts as an error of the tool. */
function resultOf(result: ToolResult): ToolResult {
  const { status, output, modelOutput } = result;
  const isResult = (status === 'completed' || status === 'failed') && typeof output === 'string' && (modelOutput === undefined || Array.isArray(modelOutput));
  if (!isResult) throw new TypeError('The tool returned no tool result.');
  return modelOutput === undefined ? { status, output } : { status, output, modelOutput };
}
