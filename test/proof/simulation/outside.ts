import { setTimeout as delay } from 'node:timers/promises';
import type { CallSafety, Reconciled } from '@engine/calls.js';
import type { LostLease } from '@engine/run-scope.js';
import { Violation } from './violation.js';
import type { SimulatedProcess } from './virtual-time.js';

export type Sent = { readonly execution: string; readonly step: number; readonly attempt: number; readonly safety: CallSafety; answered: boolean };
export type Limit = { readonly name: string; readonly size: number };
type Answer = { readonly value: number };
type Named = Pick<Sent, 'execution' | 'step'>;
type Guest = Named & { readonly limit: string };

/** The world outside: what it received and was asked, the answers that break on their way back, and the things that processes hold. */
export class Outside {
  readonly sent: Sent[] = [];
  /** What it sees and may never be: looked at by whoever checks the promises. */
  wrong: Violation | null = null;
  /** Sends that the provider was not asked about since, by call. */
  private readonly unasked = new Map<string, number>();
  private readonly guests = new Set<Guest>();
  private readonly things = new Map<string, Map<string, SimulatedProcess>>();
  private readonly closed = new Set<string>();
  private readonly offices = new Map<string, SimulatedProcess>();

  constructor(
    readonly random: () => number,
    readonly breaks: () => number,
  ) {}

  /** A call stands in its limit from the moment that it may leave: its sender may stand still with the bytes half out. */
  async receive(sent: Omit<Sent, 'answered'>, limit: Limit | null): Promise<Answer> {
    const guest = limit ? this.welcome(limit, sent) : null;
    const entry = { ...sent, answered: false };
    if (sent.safety === 'reconcilable') this.take(entry);
    await delay(this.random() * 20);
    if (sent.safety !== 'reconcilable') this.take(entry);
    await delay(this.random() * 200);
    if (guest) this.guests.delete(guest);
    if (this.random() < this.breaks()) throw new Error('the connection to the outside broke');
    entry.answered = true;
    return { value: sent.step };
  }

  /** What became of a call. Some providers have forgotten. */
  async ask({ execution, step }: Named): Promise<Reconciled<Answer>> {
    await delay(this.random() * 20);
    if (this.random() < this.breaks()) throw new Error('the question broke');
    this.unasked.set(`${execution}:${step}`, 0);
    if (this.random() < this.breaks() / 2) return { kind: 'unknown' };
    // What the provider knows the end of is outside no more, whoever sent it.
    for (const guest of this.guests) if (guest.execution === execution && guest.step === step) this.guests.delete(guest);
    return this.sent.some((entry) => entry.execution === execution && entry.step === step) ? { kind: 'done', result: { value: step } } : { kind: 'not-done' };
  }

  /** Longer than any call may take: what was outside is over, for its sender as for whoever else believes it there. */
  timePasses(): void {
    this.guests.clear();
  }

  /** Under this epoch a process acts. */
  tookOffice(process: SimulatedProcess, epoch: string): void {
    this.offices.set(`${process.name}:${epoch}`, process);
  }

  /** A physical thing that dies with its process and with nothing else. */
  thing(process: SimulatedProcess, name: string) {
    const holders = this.things.get(name) ?? new Map<string, SimulatedProcess>();
    this.things.set(name, holders);
    return {
      open: async (lease: string): Promise<string> => {
        await delay(this.random() * 20);
        const others = [...holders].filter(([id, holder]) => id !== lease && !holder.dead);
        if (others.length > 0) this.wrong ??= new Violation('a lease has one live holder', `${name} is opened by ${process.name} while ${others[0]![1].name} holds it`);
        holders.set(lease, process);
        return lease;
      },
      close: async (lease: string): Promise<void> => {
        await delay(this.random() * 20);
        if (this.random() < this.breaks()) throw new Error('the thing does not close');
        holders.delete(lease);
        this.closed.add(lease);
      },
      proveReleased: async ({ id, node, epoch }: LostLease): Promise<boolean> => {
        await delay(this.random() * 20);
        return this.closed.has(id) || this.offices.get(`${node}:${epoch}`)?.dead === true;
      },
    };
  }

  private welcome({ name, size }: Limit, { execution, step }: Named): Guest {
    const guest = { limit: name, execution, step };
    this.guests.add(guest);
    const crowd = [...this.guests].filter(({ limit }) => limit === name).length;
    if (crowd > size) this.wrong ??= new Violation('no more are outside than the limit lets out', `${crowd} of ${size} in ${name}`);
    return guest;
  }

  private take(entry: Sent): void {
    this.sent.push(entry);
    if (entry.safety !== 'reconcilable') return;
    const call = `${entry.execution}:${entry.step}`;
    const unasked = this.unasked.get(call) ?? 0;
    if (unasked > 0) this.wrong ??= new Violation('a provider is asked before a reconcilable call is sent again', call);
    this.unasked.set(call, unasked + 1);
  }
}
