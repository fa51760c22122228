import { modelEntry, selectModel, type ModelCatalog } from './catalog.js';

const catalog: ModelCatalog = {
  providers: [
    { id: 'openai', name: 'OpenAI' },
    { id: 'empty', name: 'Without models' },
  ],
  models: [modelEntry('openai', 'thinker', { reasoningEfforts: ['low', 'high'] }), modelEntry('openai', 'plain')],
};

test.each([
  ['an unknown provider', { provider: 'nobody', model: 'thinker' }, 'provider-not-found'],
  ['a model of another provider', { provider: 'empty', model: 'thinker' }, 'model-not-found'],
  ['an unknown model', { provider: 'openai', model: 'Thinker' }, 'model-not-found'],
  ['an effort that the model does not have', { provider: 'openai', model: 'thinker', reasoningEffort: 'medium' }, 'unsupported-option'],
  ['any effort where there is none', { provider: 'openai', model: 'plain', reasoningEffort: 'low' }, 'unsupported-option'],
])('%s is refused', (_, chosen, reason) => {
  expect(selectModel(catalog, chosen)).toEqual({ ok: false, failure: { _tag: 'ChatModelInvalid', reason } });
});

test.each([
  { provider: 'openai', model: 'plain' },
  { provider: 'openai', model: 'thinker' },
  { provider: 'openai', model: 'thinker', reasoningEffort: 'high' },
])('a valid choice finds its model: %p', (chosen) => {
  expect(selectModel(catalog, chosen)).toMatchObject({ ok: true, value: { id: chosen.model } });
});
