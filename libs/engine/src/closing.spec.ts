import { getEventListeners } from 'node:events';
import { closeResources, ResourcesLeftOpen } from './closing.js';
import { Gate } from './gate.js';
import { PhaseScope, type ScopeParts } from './scope.js';

const scopeWith = (close: () => Promise<void>): PhaseScope => {
  const scope = new PhaseScope({} as ScopeParts);
  scope.defer('thing', close);
  return scope;
};
const stays = new AbortController().signal;

describe('closing what a phase opened', () => {
  it('leaves nothing on the gate of its owner, which outlives its phases', async () => {
    const gate = new Gate();
    for (let phase = 0; phase < 3; phase += 1)
      await closeResources(
        scopeWith(() => Promise.resolve()),
        gate,
        stays,
      );
    expect(getEventListeners(gate.signal, 'abort')).toEqual([]);
  });

  it('waits for what does not close only until its owner has to go', async () => {
    const gate = new Gate();
    const closing = closeResources(
      scopeWith(() => new Promise(() => undefined)),
      gate,
      stays,
    );
    gate.close('shutdown');
    await expect(closing).rejects.toThrow(ResourcesLeftOpen);
    await expect(
      closeResources(
        scopeWith(() => new Promise(() => undefined)),
        gate,
        stays,
      ),
    ).rejects.toThrow(ResourcesLeftOpen);
  });
});
