import type { ExecutionEventBody } from '@domain/executions/events.js';
import type { WireCall } from './commit-item.js';

const isStreamed = (event: ExecutionEventBody): boolean => event._tag === 'Text' || event._tag === 'Reasoning' || event._tag === 'ModelAttempt' || event._tag === 'State';

/** What the next commit of an execution will carry: events in order, and moves of calls. Neighbouring deltas of one attempt become one event. */
export class Draft {
  events: ExecutionEventBody[] = [];
  calls: WireCall[] = [];
  textBytes = 0;

  add(event: ExecutionEventBody): void {
    const last = this.events.at(-1);
    if (event._tag === 'Text' || event._tag === 'Reasoning') {
      this.textBytes += event.delta.length;
      if (last?._tag === event._tag && last.step === event.step && last.attempt === event.attempt) {
        this.events[this.events.length - 1] = { ...last, delta: last.delta + event.delta };
        return;
      }
    }
    this.events.push(event);
  }

  /** Streamed events that may be published before the result that follows them. A result's own events and calls stay for its commit. */
  takeStreamed(): ExecutionEventBody[] {
    const end = this.events.findIndex((event) => !isStreamed(event));
    this.textBytes = 0;
    return this.events.splice(0, end === -1 ? this.events.length : end);
  }

  /** A phase that did not get to its commit runs again and says its events anew; what it streamed was said. */
  dropUnsaved(): void {
    this.events = this.events.filter(isStreamed);
  }

  takeAll(): { events: ExecutionEventBody[]; calls: WireCall[] } {
    const taken = { events: this.events, calls: this.calls };
    this.events = [];
    this.calls = [];
    this.textBytes = 0;
    return taken;
  }
}
