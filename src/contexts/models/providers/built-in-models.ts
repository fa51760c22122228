import { modelEntry, selection, type ModelCatalog, type ModelEntry, type ModelSelection, type ProviderEntry } from '@domain/models/catalog.js';
import { defaultModels, knownModel } from '@domain/models/known-models.js';
import type { ConnectionKind } from '@domain/models/connection.js';
import type { Model } from '@core/model.js';
import type { Config, ProviderSettings } from '@platform/config/config.js';
import { addressPolicy } from '@platform/egress/address-policy.js';
import { Egress } from '@platform/egress/egress.js';
import { traceTo } from '@platform/egress/trace-to.js';
import { developmentCatalog, developmentProvider, simulatedModel } from '../development/simulated-models.js';
import { connectModel } from './sdk-models.js';

type Configured = { readonly provider: ProviderEntry; readonly entry: ModelEntry; readonly model: Model };

/** The addresses in the environment are the operator's own, so that they may be private; tenants reach them no more than before. */
function operatorsEgress(config: Config): Egress {
  const hosts = [config.openai, config.anthropic].flatMap((settings) => (settings?.baseUrl ? [new URL(settings.baseUrl).hostname] : []));
  return new Egress(addressPolicy([...config.egressAllow, ...hosts.map((host) => host.replace(/^\[|\]$/g, ''))], { loopback: !config.production }), traceTo(config.egressTrace));
}

function configure(kind: Exclude<ConnectionKind, 'openai-compatible'>, name: string, settings: ProviderSettings | null, egress: Egress): Configured[] {
  if (!settings) return [];
  const id = settings.model ?? defaultModels[kind];
  const entry = modelEntry(kind, id, knownModel(id));
  const endpoint = { provider: kind, kind, api: kind === 'openai' ? settings.api : null, baseUrl: settings.baseUrl, apiKey: settings.apiKey };
  return [{ provider: { id: kind, name }, entry, model: connectModel(endpoint, entry, egress) }];
}

/** The models that every organization of this process has. A class so that Nest can inject it, and because it holds their connections. */
export class BuiltInModels {
  readonly catalog: ModelCatalog;
  readonly default: ModelSelection | null;
  private readonly configured: readonly Configured[];
  private readonly egress: Egress;
  private readonly simulates: boolean;

  constructor(config: Config) {
    this.egress = operatorsEgress(config);
    this.simulates = !config.production;
    this.configured = [...configure('openai', 'OpenAI', config.openai, this.egress), ...configure('anthropic', 'Anthropic', config.anthropic, this.egress)];
    const simulated = this.simulates ? developmentCatalog : { providers: [], models: [] };
    this.catalog = {
      providers: [...this.configured.map(({ provider }) => provider), ...simulated.providers],
      models: [...this.configured.map(({ entry }) => entry), ...simulated.models],
    };
    const [first] = this.catalog.models;
    this.default = first ? selection(first.provider, first.id) : null;
  }

  has(provider: string): boolean {
    return this.catalog.providers.some(({ id }) => id === provider);
  }

  /** The model of an entry of this catalog. */
  model({ provider, id }: Pick<ModelEntry, 'provider' | 'id'>): Model {
    const simulated = this.simulates && provider === developmentProvider ? simulatedModel(id) : null;
    const model = simulated ?? this.configured.find(({ entry }) => entry.provider === provider && entry.id === id)?.model;
    if (!model) throw new Error('a catalog entry has no model');
    return model;
  }

  close(): Promise<void> {
    return this.egress.close();
  }
}
