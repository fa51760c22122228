import { SetMetadata } from '@nestjs/common';
import { hasEnded } from '@domain/executions/state.js';
import type { CommitItem, WireHook } from './commit-item.js';
import type { Head } from './head.js';
import type { EnginePorts } from './ports.js';
import type { Stored } from './saga.js';
import type { Binding, OrganizationKey } from './sealing.js';

export const hookSteps = ['before-call', 'after-call', 'phase-saved', 'ended'] as const;
export type HookStep = (typeof hookSteps)[number];

/**
 * A named step of an execution, as the commit that makes it durable says it. `step` and `attempt` are the call's; of a phase and an end they are the
 * number of the commit and 0.
 */
export type HookMoment = {
  readonly at: HookStep;
  readonly execution: Pick<Stored<object>, 'id' | 'context' | 'workflow' | 'generation' | 'subjectId'>;
  readonly step: number;
  readonly attempt: number;
  /** The call's name within its step; empty for a phase and an end. */
  readonly name: string;
  /** The state that the call moves to, or that the execution is in after the commit. */
  readonly state: string;
};

/**
 * What a feature wants to note when work passes a named step. The answer is stored with the step, in its commit, once for each execution, step, name and
 * attempt; `null` notes nothing. It is asked again for a commit that did not happen, so it only computes: it cannot wait, send, or say what comes next.
 * One that throws is reported under an error id and notes nothing; the work goes on.
 */
export interface WorkflowHook {
  note(moment: HookMoment): object | null;
}

export type HookOptions = { readonly name: string; readonly workflow: string; readonly at: readonly HookStep[] };
export const hookMetadata = 'openbot:hook';
/** Registers a provider as a hook of one workflow. `name` keys what it stores and never changes. */
export const Hook = (name: string, options: Omit<HookOptions, 'name'>): (<T extends new (...args: never[]) => WorkflowHook>(target: T) => void) =>
  SetMetadata(hookMetadata, { name, ...options } satisfies HookOptions);

export type RegisteredHook = HookOptions & { readonly hook: WorkflowHook };

type Passed = Omit<HookMoment, 'execution'>;

const isOver = (state: string): boolean => state !== 'intent' && state !== 'sending';

/** The named steps that a commit makes durable; a bare release, a text and the gate of a call are none. */
function stepsOf(item: CommitItem, phase: boolean): Passed[] {
  const calls = (item.calls ?? []).flatMap((call): Passed[] => {
    const of = { step: call.step, attempt: call.attempt, name: call.name, state: call.to };
    if ('kind' in call) return [{ at: 'before-call', ...of }];
    return isOver(call.to) ? [{ at: 'after-call', ...of }] : [];
  });
  const of = { step: item.n, attempt: 0, name: '', state: item.to };
  return [...calls, ...(phase ? [{ at: 'phase-saved' as const, ...of }] : []), ...(hasEnded(item.to) ? [{ at: 'ended' as const, ...of }] : [])];
}

/** What a note's sealed body is bound to. */
export const noteBinding = (executionId: string, { hook, at, step, name, attempt }: Omit<WireHook, 'body'>): Binding => ({
  table: 'execution_note',
  record: `${executionId}:${hook}:${at}:${step}:${name}:${attempt}`,
});

type Owner = { readonly head: Head; readonly key: OrganizationKey; readonly ports: Pick<EnginePorts, 'recordError'> };

function noteOf({ name: hook, hook: noter }: RegisteredHook, step: Passed, { head, key, ports }: Owner): WireHook[] {
  const { id, context, workflow, generation, subjectId } = head;
  try {
    const noted = noter.note({ ...step, execution: { id, context, workflow, generation, subjectId } });
    if (noted === null) return [];
    const place = { hook, at: step.at, step: step.step, name: step.name, attempt: step.attempt };
    return [{ ...place, body: key.seal(noteBinding(id, place), JSON.stringify(noted)).toString('base64') }];
  } catch (cause) {
    ports.recordError(cause, { context, executionId: id, category: `hook_failed:${hook}` });
    return [];
  }
}

/** The commit with what its hooks note of it. */
export function withNotes(item: CommitItem, savesPhase: boolean, hooks: readonly RegisteredHook[], owner: Owner): CommitItem {
  if (hooks.length === 0) return item;
  const steps = stepsOf(item, savesPhase);
  const notes = hooks.flatMap((hook) => steps.filter(({ at }) => hook.at.includes(at)).flatMap((step) => noteOf(hook, step, owner)));
  return notes.length > 0 ? { ...item, notes } : item;
}
