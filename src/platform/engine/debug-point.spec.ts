import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

  test('armed by a file: the first process that gets there takes it, and a new arming counts anew', () => {
    const folder = mkdtempSync(join(tmpdir(), 'openbot-point-'));
    const path = join(folder, 'armed');
    const [one, other] = [debugPoint(`file:${path}`), debugPoint(`file:${path}`)];
    one('call:sending');
    writeFileSync(path, 'call:sending#2@SIGSTOP first');
    for (const reach of [one, other, one, other, other]) reach('call:sending');
    expect(kill.mock.calls).toEqual([[process.pid, 'SIGSTOP']]);
    expect(existsSync(`${path}.${process.pid}`)).toBe(true);
    writeFileSync(path, 'call:sending second');
    other('call:sending');
    expect(kill.mock.calls).toHaveLength(2);
    rmSync(folder, { recursive: true });
  });
});
