import { v7 as uuidv7 } from 'uuid';
import type { Hint, WakeChannel } from '@engine/wake-channel.js';

/** What every wake channel promises to the process that holds it. */
export function describeWakeChannel(name: string, open: () => Promise<{ readonly wake: WakeChannel; close(): Promise<void> }>): void {
  describe(`wake channel: ${name}`, () => {
    const [first, second] = [uuidv7(), uuidv7()];
    let opened: Awaited<ReturnType<typeof open>>;

    beforeEach(async () => (opened = await open()));
    afterEach(() => opened.close());

    const listen = (): { heard: Hint[]; stop: () => void } => {
      const heard: Hint[] = [];
      // What is told when a connection begins to listen may come at any moment.
      const stop = opened.wake.subscribe((hint) => void (hint === 'all' || heard.push(hint)));
      return { heard, stop };
    };

    test('own listeners hear a hint before publish returns', () => {
      const [one, other] = [listen(), listen()];
      opened.wake.publish([first, second]);
      expect(one.heard).toEqual([[first, second]]);
      expect(other.heard).toEqual([[first, second]]);
    });

    test('who stopped hears nothing more, and only that one', () => {
      const [one, other] = [listen(), listen()];
      one.stop();
      one.stop();
      opened.wake.publish([first]);
      expect(one.heard).toEqual([]);
      expect(other.heard).toEqual([[first]]);
    });

    test('the same function twice is two subscriptions', () => {
      let calls = 0;
      const count = (hint: Hint): void => void (hint === 'all' || (calls += 1));
      const stop = opened.wake.subscribe(count);
      opened.wake.subscribe(count);
      opened.wake.publish([first]);
      stop();
      opened.wake.publish([first]);
      expect(calls).toBe(3);
    });

    test('a listener that throws keeps neither the publisher nor the others from going on', () => {
      opened.wake.subscribe(() => {
        throw new Error('a listener with a fault');
      });
      const { heard } = listen();
      opened.wake.publish([first]);
      expect(heard).toEqual([[first]]);
    });

    test('nothing changed: nobody is told', () => {
      const { heard } = listen();
      opened.wake.publish([]);
      expect(heard).toEqual([]);
    });

    test('a listener may stop itself, and publish, while it hears', () => {
      const { heard } = listen();
      const stop = opened.wake.subscribe((hint) => {
        if (hint === 'all') return;
        stop();
        opened.wake.publish([second]);
      });
      opened.wake.publish([first]);
      expect(heard).toEqual([[first], [second]]);
    });
  });
}
