import { debugPoint } from './debug-point.js';

describe('a debug point', () => {
  const kill = jest.spyOn(process, 'kill').mockReturnValue(true);
  beforeEach(() => kill.mockClear());
  afterAll(() => kill.mockRestore());

  test.each<[string | null, string[], unknown[][]]>([
    [null, ['call:sending'], []],
    ['call:sending', ['call:intent', 'call:sending-not'], []],
    ['call:sending', ['call:sending', 'call:sending'], [[process.pid, 'SIGKILL']]],
    ['call:sending#2', ['call:sending'], []],
    ['call:sending#2', ['call:sending', 'call:intent', 'call:sending', 'call:sending'], [[process.pid, 'SIGKILL']]],
    ['call:sending@SIGSTOP', ['call:sending'], [[process.pid, 'SIGSTOP']]],
    ['phase:ended:StepPhase#3@SIGTERM', ['phase:ended:StepPhase', 'phase:ended:StepPhase', 'phase:ended:StepPhase'], [[process.pid, 'SIGTERM']]],
  ])('%s', (setting, reached, kills) => {
    const reach = debugPoint(setting);
    for (const point of reached) reach(point);
    expect(kill.mock.calls).toEqual(kills);
  });
});
