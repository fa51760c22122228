import fc from 'fast-check';
import { OwnerWatch, type NodeBeat } from './owner-watch.js';

const leaseMs = 1_000;
const stepMs = 100;
const beat = (value: number, epoch = '1', name = 'a'): NodeBeat => ({ name, epoch, beat: String(value) });
const owner = (epoch = '1', name = 'a') => ({ owner: name, epoch });

describe('the watch over other owners', () => {
  test('an owner without a node, or of an epoch that is over, is gone at once', () => {
    const watch = new OwnerWatch(leaseMs);
    expect(watch.expired([beat(0, '12')], [owner('12'), owner('1'), owner('1', 'b')], 0)).toEqual([owner('1'), owner('1', 'b')]);
  });

  test('an owner whose beat stands still is gone after a lease, and not before', () => {
    const watch = new OwnerWatch(leaseMs);
    for (let now = 0; now < leaseMs; now += stepMs) expect(watch.expired([beat(7)], [owner()], now)).toEqual([]);
    expect(watch.expired([beat(7)], [owner()], leaseMs)).toEqual([owner()]);
    expect(watch.expired([beat(8)], [owner()], leaseMs + stepMs)).toEqual([]);
  });

  test('the next look comes sooner while others own work, and in time for the first that is silent', () => {
    const watch = new OwnerWatch(leaseMs);
    watch.expired([beat(7), beat(1, '1', 'b')], [], 0);
    expect(watch.pauseMs(stepMs)).toBe(stepMs);
    watch.expired([beat(7), beat(1, '1', 'b')], [owner()], 480);
    expect(watch.pauseMs(stepMs)).toBe(stepMs / 2);
    watch.expired([beat(7), beat(1, '1', 'b')], [owner()], 970);
    expect(watch.pauseMs(stepMs)).toBe(leaseMs - 970);
    // A node that owns nothing is waited for by nobody.
    watch.expired([beat(8), beat(1, '1', 'b')], [owner()], 990);
    expect(watch.pauseMs(stepMs)).toBe(stepMs / 2);
  });

  test('the same beat under a new epoch is another life', () => {
    const watch = new OwnerWatch(leaseMs);
    for (let now = 0; now < leaseMs; now += stepMs) watch.expired([beat(7)], [], now);
    expect(watch.expired([beat(7, '2')], [owner('2')], leaseMs)).toEqual([]);
  });

  test('an observer that was paused for hours accuses nobody by that', () => {
    const watch = new OwnerWatch(leaseMs);
    watch.expired([beat(7)], [owner()], 0);
    expect(watch.expired([beat(7)], [owner()], 10_000_000)).toEqual([]);
  });

  test('a node that beats within its lease is never accused, whenever the observer looks', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 5_000 }), { maxLength: 50 }), fc.integer({ min: 1, max: leaseMs }), (pauses, beatMs) => {
        const watch = new OwnerWatch(leaseMs);
        let now = 0;
        for (const pause of pauses) {
          now += pause;
          expect(watch.expired([beat(Math.floor(now / beatMs))], [owner()], now)).toEqual([]);
        }
      }),
    );
  });
});
