import { LogWindow } from './log-window.js';
import type { LogEntry } from './log-kind.js';

const event = (sequence: number, bytes = 10): LogEntry => ({ sequence, json: 'x'.repeat(bytes) });
const events = (from: number, to: number, bytes = 10): LogEntry[] => Array.from({ length: to - from + 1 }, (_, index) => event(from + index, bytes));
const sequences = (found: readonly LogEntry[] | null): number[] | null => found && found.map(({ sequence }) => sequence);
const limits = { events: 5, bytes: 100 };

test('a reader at the head waits; one behind it reads on; one behind the window pages', () => {
  const window = new LogWindow(3, limits);
  expect(window.after(3, 10)).toEqual([]);
  expect(window.after(9, 10)).toEqual([]);
  expect(window.after(2, 10)).toBeNull();
  window.append(events(4, 6));
  expect(window.head).toBe(6);
  expect(sequences(window.after(3, 10))).toEqual([4, 5, 6]);
  expect(sequences(window.after(4, 1))).toEqual([5]);
  expect(window.after(2, 10)).toBeNull();
});

test('the oldest leave when there are too many', () => {
  const window = new LogWindow(0, limits);
  window.append(events(1, 4));
  window.append(events(5, 8));
  expect(window.after(2, 10)).toBeNull();
  expect(sequences(window.after(3, 10))).toEqual([4, 5, 6, 7, 8]);
});

test('the oldest leave when they are too large, and one event larger than all room leaves the window empty', () => {
  const window = new LogWindow(0, limits);
  window.append(events(1, 4, 30));
  expect(window.bytes).toBe(90);
  expect(sequences(window.after(1, 10))).toEqual([2, 3, 4]);
  window.append([event(5, 1_000)]);
  expect(window.head).toBe(5);
  expect(window.bytes).toBe(0);
  expect(window.after(4, 10)).toBeNull();
  expect(window.after(5, 10)).toEqual([]);
});

test('what was read twice is kept once, and a gap is refused', () => {
  const window = new LogWindow(0, limits);
  window.append(events(1, 3));
  window.append(events(2, 4));
  expect(sequences(window.after(0, 10))).toEqual([1, 2, 3, 4]);
  expect(() => window.append(events(6, 6))).toThrow('goes on at 6 after 4');
});

test('a page that joins the window is remembered, as far as there is room', () => {
  const window = new LogWindow(6, limits);
  window.append(events(7, 7));
  window.remember(events(1, 4));
  expect(window.after(3, 10)).toBeNull();
  window.remember(events(1, 7));
  expect(window.after(1, 10)).toBeNull();
  expect(sequences(window.after(2, 10))).toEqual([3, 4, 5, 6, 7]);
  window.forget();
  expect(window.bytes).toBe(0);
  expect(window.after(6, 10)).toBeNull();
  expect(window.head).toBe(7);
});
