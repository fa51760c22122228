type Known = { readonly contextWindow: number | null; readonly reasoningEfforts: readonly string[] };

const efforts = ['low', 'medium', 'high'];

/**
 * What is known of models that are named by an environment variable alone. Windows are the ones that every account has; a model that is
 * not here has an unknown window, and its history is never shortened for it.
 */
const families: readonly (readonly [RegExp, Known])[] = [
  [/^gpt-4\.1/, { contextWindow: 1_047_576, reasoningEfforts: [] }],
  [/^gpt-4o/, { contextWindow: 128_000, reasoningEfforts: [] }],
  [/^gpt-5(\.\d+)?-chat/, { contextWindow: 128_000, reasoningEfforts: [] }],
  [/^gpt-5/, { contextWindow: 400_000, reasoningEfforts: efforts }],
  [/^o[134](-|$)/, { contextWindow: 200_000, reasoningEfforts: efforts }],
  [/^claude-(opus|sonnet)-4-[6-9]/, { contextWindow: 200_000, reasoningEfforts: efforts }],
  [/^claude-/, { contextWindow: 200_000, reasoningEfforts: [] }],
];

export const knownModel = (id: string): Known => families.find(([family]) => family.test(id))?.[1] ?? { contextWindow: null, reasoningEfforts: [] };

/** Used when a key is given without a model. */
export const defaultModels = { openai: 'gpt-5.4', anthropic: 'claude-sonnet-4-6' } as const;
