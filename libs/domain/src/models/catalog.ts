import { fail, ok, type Result } from '../result.js';

/** A chosen model, as clients send and read it. */
export type ModelSelection = {
  readonly _tag: 'Config.Selection';
  readonly provider: string;
  readonly model: string;
  readonly reasoningEffort?: string;
};

export type ProviderEntry = { readonly id: string; readonly name: string };

/** A model that may be chosen. `contextWindow`: the tokens it reads at once, `null` when unknown. */
export type ModelEntry = {
  readonly _tag: 'Config.Model';
  readonly provider: string;
  readonly id: string;
  readonly name: string;
  readonly contextWindow: number | null;
  readonly reasoningEfforts: readonly string[];
  readonly serviceTiers: readonly string[];
};

export type ModelCatalog = { readonly providers: readonly ProviderEntry[]; readonly models: readonly ModelEntry[] };

export type ChatModelInvalid = { readonly _tag: 'ChatModelInvalid'; readonly reason: 'provider-not-found' | 'model-not-found' | 'unsupported-option' };

export const selection = (provider: string, model: string): ModelSelection => ({ _tag: 'Config.Selection', provider, model });

export const modelEntry = (provider: string, id: string, details: Partial<Pick<ModelEntry, 'name' | 'contextWindow' | 'reasoningEfforts'>> = {}): ModelEntry => ({
  _tag: 'Config.Model',
  provider,
  id,
  name: details.name ?? id,
  contextWindow: details.contextWindow ?? null,
  reasoningEfforts: details.reasoningEfforts ?? [],
  serviceTiers: [],
});

/** Finds the chosen model, or says which part of the choice is wrong: the first of provider, model, option. */
export function selectModel(catalog: ModelCatalog, chosen: Omit<ModelSelection, '_tag'>): Result<ModelEntry, ChatModelInvalid> {
  const invalid = (reason: ChatModelInvalid['reason']) => fail({ _tag: 'ChatModelInvalid', reason } as const);
  if (!catalog.providers.some(({ id }) => id === chosen.provider)) return invalid('provider-not-found');
  const model = catalog.models.find(({ provider, id }) => provider === chosen.provider && id === chosen.model);
  if (!model) return invalid('model-not-found');
  if (chosen.reasoningEffort !== undefined && !model.reasoningEfforts.includes(chosen.reasoningEffort)) return invalid('unsupported-option');
  return ok(model);
}
