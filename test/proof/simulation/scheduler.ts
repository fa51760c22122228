import type { Session, Sessions, Settled, Statement } from './sessions.js';
import { Violation } from './violation.js';
import { settleTurn, SimulatedProcess } from './virtual-time.js';

type Kind = 'auto' | 'statement' | 'commit' | 'rollback';
/** `deliver` is absent for bytes whose sender waits no more. */
type Request = { readonly transaction: Transaction; readonly kind: Kind; readonly statement: Statement; readonly label: string; deliver: ((settled: Settled) => void) | null };

/** The statements of one borrowed connection. */
export class Transaction {
  session: Session | null = null;
  constructor(readonly process: SimulatedProcess) {}
}

export type Choice = { readonly label: string; readonly weight: number; readonly take: () => void | Promise<void> };

const ends = (kind: Kind): boolean => kind !== 'statement';

/**
 * Decides by its seed alone what happens next: which process's statement goes out, whose timer fires, what breaks. One thing at a time; before the next
 * choice every statement was answered or is blocked, and every process waits.
 */
export class Scheduler {
  readonly processes = new Set<SimulatedProcess>();
  /** What has left its sender and is in nobody's hands: delayed bytes, connections whose death the server has not noticed. */
  readonly network: SimulatedProcess;
  readonly schedule: string[] = [];
  private requests: Request[] = [];
  private flying = new Map<Session, Request>();
  private backlog: { readonly process: SimulatedProcess; readonly deliver: () => void }[] = [];
  private open = new Set<Transaction>();

  constructor(
    private readonly sessions: Sessions,
    readonly random: () => number,
  ) {
    this.network = this.add('network');
  }

  chance = (probability: number): boolean => this.random() < probability;
  below = (count: number): number => Math.floor(this.random() * count);

  add(name: string): SimulatedProcess {
    const process = new SimulatedProcess(name, this.random);
    this.processes.add(process);
    return process;
  }

  /** Whether anything is on its way. */
  get busy(): boolean {
    return this.requests.length > 0 || this.flying.size > 0;
  }

  /** Asks for one statement's turn; resolves with what the server answered. */
  step(transaction: Transaction, kind: Kind, statement: Statement, label: string): Promise<Settled> {
    return new Promise((resolve) => {
      if (transaction.process.dead) return;
      this.open.add(transaction);
      this.requests.push({ transaction, kind, statement, label, deliver: resolve });
    });
  }

  /** Bytes that arrive although their sender believes them lost: on a connection of their own, or as the end of one. */
  afterwards(transaction: Transaction | null, kind: Kind, statement: Statement, label: string): void {
    const adopted = new Transaction(this.network);
    if (transaction) {
      adopted.session = transaction.session;
      transaction.session = null;
      this.open.delete(transaction);
    }
    this.open.add(adopted);
    this.requests.push({ transaction: adopted, kind, statement, label: `${label} (late)`, deliver: null });
  }

  /** kill -9: nothing inside goes on. What it had sent may still arrive; open transactions end when the server notices. */
  kill(process: SimulatedProcess): void {
    process.dead = true;
    process.timers = [];
    this.backlog = this.backlog.filter((held) => held.process !== process);
    const sent = new Set([...this.flying.values()].map(({ transaction }) => transaction));
    for (const request of [...this.flying.values()]) if (request.transaction.process === process) request.deliver = null;
    const unsent = this.requests.filter(({ transaction }) => transaction.process === process);
    this.requests = this.requests.filter(({ transaction }) => transaction.process !== process);
    for (const { transaction, kind, statement, label } of unsent) {
      const leaves = (kind === 'auto' || kind === 'commit') && this.chance(0.4);
      if (leaves) this.afterwards(transaction, kind, statement, label);
    }
    for (const transaction of [...this.open].filter((other) => other.process === process && !sent.has(other))) {
      if (transaction.session) this.afterwards(transaction, 'rollback', { text: 'rollback' }, 'rollback');
      else this.open.delete(transaction);
    }
    this.processes.delete(process);
  }

  thaw(process: SimulatedProcess): void {
    process.frozen = false;
    for (const { deliver } of this.backlog.filter((held) => held.process === process)) deliver();
    this.backlog = this.backlog.filter((held) => held.process !== process);
  }

  /** One choice and everything that follows from it at once. */
  async advance(more: readonly Choice[]): Promise<void> {
    const choices = [...this.sendable(), ...this.timers(), ...more];
    if (choices.length === 0) throw new Violation('stuck', `nothing can go on: ${this.requests.map(({ label }) => label).join(', ') || 'every process waits for ever'}`);
    const choice = this.pick(choices);
    this.schedule.push(choice.label);
    await choice.take();
    await this.sessions.settle();
    for (const [session, request] of [...this.flying]) if (session.settled) this.answer(session, request, session.settled);
    await settleTurn(this.processes);
  }

  /** Lets what was just started run to where it waits for its first turn. */
  settleTurn(): Promise<void> {
    return settleTurn(this.processes);
  }

  private pick(choices: readonly Choice[]): Choice {
    let left = this.random() * choices.reduce((sum, { weight }) => sum + weight, 0);
    for (const choice of choices) {
      left -= choice.weight;
      if (left < 0) return choice;
    }
    return choices[choices.length - 1]!;
  }

  private sendable(): Choice[] {
    const free = this.sessions.all.filter((session) => !session.inFlight && !session.inTransaction && ![...this.open].some((transaction) => transaction.session === session));
    return this.requests
      .filter(({ transaction }) => !transaction.process.frozen && (transaction.session ?? free[0]))
      .map((request) => ({ label: `${request.transaction.process.name} ${request.label}`, weight: 10, take: () => this.send(request, free[0]) }));
  }

  private timers(): Choice[] {
    return [...this.processes]
      .filter((process) => !process.frozen && process.timers.length > 0)
      .map((process) => ({ label: `${process.name} timer`, weight: 1.5, take: () => process.fireNext() }));
  }

  private send(request: Request, free: Session | undefined): void {
    const { transaction } = request;
    this.requests = this.requests.filter((other) => other !== request);
    const session = (transaction.session ??= free!);
    this.flying.set(session, request);
    session.send(request.statement);
    // It holds its locks from here on, also while it still waits for others.
    session.inTransaction = !ends(request.kind);
  }

  private answer(session: Session, request: Request, settled: Settled): void {
    this.flying.delete(session);
    session.inFlight = false;
    session.settled = null;
    const { transaction, kind, deliver } = request;
    if ('error' in settled && (settled.error as { code?: string }).code === '40P01') throw new Violation('deadlock', request.label);
    if (ends(kind)) {
      session.inTransaction = false;
      transaction.session = null;
      this.open.delete(transaction);
    }
    if (deliver && transaction.process.frozen) this.backlog.push({ process: transaction.process, deliver: () => deliver(settled) });
    else if (deliver) deliver(settled);
    else if (!ends(kind)) this.afterwards(transaction, 'rollback', { text: 'rollback' }, 'rollback');
  }
}
