import { Gate } from './gate.js';

describe('a gate', () => {
  it('tells those who listen, and throws the first reason for which it closed', () => {
    const gate = new Gate();
    const heard: unknown[] = [];
    gate.signal.addEventListener('abort', () => heard.push(gate.signal.reason));
    gate.assertOpen();
    gate.close('look');
    gate.close('lost');
    expect(heard).toEqual(['look']);
    expect(gate.isClosed).toBe(true);
    expect(() => gate.signal.throwIfAborted()).toThrow('look');
  });

  it('gives a signal that has aborted to whoever asks after it closed', () => {
    const gate = Gate.closed(new Error('shut'));
    expect(gate.signal.aborted).toBe(true);
    expect(gate.signal.reason).toEqual(new Error('shut'));
    expect(gate.signal).toBe(gate.signal);
    expect(() => gate.assertOpen()).toThrow('shut');
  });
});
