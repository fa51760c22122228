import type { FunctionCallOutput, ItemContent } from '@domain/chats/items.js';
import type { ModelFailure, ModelRequest } from '@core/model.js';
import { directiveIn, type Directive } from './directive.js';

/** What a simulated model does with one request. */
export type Plan = {
  readonly deltas: readonly string[];
  readonly delayMs?: number;
  readonly calls?: readonly { readonly name: string; readonly arguments: string }[];
  readonly fail?: { readonly kind: ModelFailure['kind']; readonly retryAfterMs: number | null };
};

const noticeMark = '[OpenBot]';

const userText = (item: ItemContent | undefined): string =>
  item?.type === 'message' && item.role === 'user' ? item.content.map((part) => (part.type === 'input_text' ? part.text : '')).join('') : '';

/** What a person said last, and all that has happened since. Notices are no person's words: they interrupt no plan. */
function sinceLastWords(history: readonly ItemContent[]): { readonly text: string; readonly since: readonly ItemContent[] } {
  const isUser = (item: ItemContent) => item.type === 'message' && item.role === 'user';
  const spoken = history.findLastIndex((item) => isUser(item) && !userText(item).startsWith(noticeMark));
  const index = spoken >= 0 ? spoken : history.findLastIndex(isUser);
  return { text: userText(history[index]), since: history.slice(index + 1) };
}

const words = (text: string): string[] => text.match(/\S+\s*/gu) ?? [];
const quoted = (text: string): string => `“${text.length > 500 ? `${text.slice(0, 500)}…` : text}”`;

export const answerText = ({ history }: ModelRequest): Plan => ({ deltas: words(`You said ${quoted(sinceLastWords(history).text)}. This is a simulated answer.`) });

/** Five seconds unless the text names other numbers. */
export function answerSlowly({ history }: ModelRequest): Plan {
  const { delayMs = 100, deltas = 50 } = directiveIn(sinceLastWords(history).text);
  return { deltas: Array.from({ length: deltas }, (_, index) => `part ${index + 1} `), delayMs };
}

type Status = 'pending' | 'in_progress' | 'done';
const todos = (read: Status, answer: Status) => ({
  name: 'openbot_todos',
  arguments: JSON.stringify({
    items: [
      { id: 'read', content: 'Read the request', status: read },
      { id: 'answer', content: 'Answer it', status: answer },
    ],
  }),
});
const todoSteps = [todos('in_progress', 'pending'), todos('done', 'in_progress'), todos('done', 'done')];

/** Keeps a list of two todos and answers, or makes the calls that the text names, all in one step, and tells their results. */
export function useTools({ history }: ModelRequest): Plan {
  const { text, since } = sinceLastWords(history);
  const { calls } = directiveIn(text);
  const made = since.filter(({ type }) => type === 'function_call').length;
  if (calls && made === 0) return { deltas: [], calls };
  if (calls) {
    const outputs = since.filter((item): item is FunctionCallOutput => item.type === 'function_call_output');
    return { deltas: words(`The tools answered: ${outputs.map(({ status, output }) => `${status} ${output}`).join(' | ')}`) };
  }
  const step = todoSteps[made];
  return step ? { deltas: [], calls: [step] } : { deltas: words(`Both todos are done. You said ${quoted(text)}.`) };
}

const kinds = ['limited', 'unavailable', 'interrupted', 'unauthorized', 'too-long', 'rejected'] as const;

function wantedFailure(text: string, { fail }: Directive): ModelFailure['kind'] {
  return kinds.find((kind) => kind === fail) ?? kinds.find((kind) => text.includes(kind)) ?? 'rejected';
}

export function failAsAsked({ history }: ModelRequest): Plan {
  const { text } = sinceLastWords(history);
  const directive = directiveIn(text);
  const kind = wantedFailure(text, directive);
  return { deltas: kind === 'interrupted' ? ['Half ', 'an '] : [], fail: { kind, retryAfterMs: kind === 'limited' ? (directive.retryAfterMs ?? 1_000) : null } };
}
