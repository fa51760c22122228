import { v7 as uuidv7 } from 'uuid';
import type { SafeFailure } from '@domain/executions/failures.js';
import { fail, ok, type Result } from '@domain/result.js';
import { CommitRefused } from './execution-writer.js';
import type { Gate } from './gate.js';
import type { Head } from './head.js';
import type { LeaseStore } from './lease-store.js';
import type { EnginePorts } from './ports.js';
import type { Physical, Resource, ResourceHeld, RunScope } from './run-scope.js';

/** `failed` is told each failed close, with the id of the first cause. */
type Open = { readonly name: string; readonly close: () => Promise<void>; readonly failed?: (errorId: string) => Promise<unknown>; failure?: SafeFailure };
type Lease = { readonly id: string; at: 'asked' | 'opening' | 'gone' };
export type Closed = { readonly name: string; readonly failure: SafeFailure | null };

export type ScopeParts = {
  readonly head: Head;
  readonly leases: LeaseStore;
  readonly ports: Pick<EnginePorts, 'recordError' | 'assertOwned' | 'reach'>;
  readonly gate: () => Gate;
};

/** The scope of one phase. `close` closes everything in reverse order and answers what became of each, so that one does not keep the others open. */
export class PhaseScope implements RunScope {
  private readonly open: Open[] = [];
  private ended = false;

  constructor(private readonly parts: ScopeParts) {}

  get isEmpty(): boolean {
    return this.open.length === 0;
  }

  defer(name: string, close: () => Promise<void>): void {
    this.add({ name, close });
  }

  async lease<T>(resource: Resource, physical: Physical<T>): Promise<Result<T, ResourceHeld>> {
    this.assertOpen();
    const lease: Lease = { id: uuidv7(), at: 'asked' };
    const opening = this.openUp(lease, resource, physical);
    this.add(this.closable(lease, opening, resource, physical));
    return opening;
  }

  /** Closes what is open; what failed stays registered, to be closed again. Its first cause is kept under an error id of its own. */
  async close(): Promise<readonly Closed[]> {
    this.ended = true;
    const closed: Closed[] = [];
    for (const resource of this.open.splice(0).reverse()) {
      try {
        await resource.close();
        closed.push({ name: resource.name, failure: null });
      } catch (cause) {
        this.open.unshift(resource);
        const failure = (resource.failure ??= this.record(cause, `close_failed:${resource.name}`));
        closed.push({ name: resource.name, failure });
        await resource.failed?.(failure.errorId).catch((error: unknown) => this.record(error, 'close_unsaved'));
        this.parts.ports.reach('scope:close-failed');
      }
    }
    return closed;
  }

  private add(resource: Open): void {
    this.assertOpen();
    this.open.push(resource);
  }

  private assertOpen(): void {
    if (this.ended) throw new Error('a resource was opened in a scope that closes');
  }

  private async openUp<T>(lease: Lease, resource: Resource, physical: Physical<T>): Promise<Result<T, ResourceHeld>> {
    const { ports } = this.parts;
    const held = await this.register(lease, resource, physical);
    if (held) return fail(held);
    ports.reach('lease:registered');
    this.mayOpen();
    lease.at = 'opening';
    const thing = await physical.open(lease.id);
    ports.reach('lease:opened');
    return ok(thing);
  }

  private mayOpen(): void {
    this.assertOpen();
    this.parts.ports.assertOwned();
    this.parts.gate().assertOpen();
  }

  private async register(lease: Lease, resource: Resource, { proveReleased }: Pick<Physical<unknown>, 'proveReleased'>): Promise<ResourceHeld | null> {
    const { head, leases } = this.parts;
    for (let proved: string | null = null; ;) {
      const answer = await leases.register(head, lease.id, resource, () => this.mayOpen());
      if (answer.outcome === 'registered') return null;
      if (answer.outcome === 'refused') throw new CommitRefused('refused');
      const { lease: id, state, executionId, node, epoch, left } = answer;
      const held: ResourceHeld = { _tag: 'ResourceHeld', state, executionId, node };
      if (!left || !proveReleased || proved === id) return held;
      const released = await proveReleased({ id, executionId, node, epoch }).catch((error: unknown) => void this.record(error, 'lease_proof_failed'));
      if (released !== true) return held;
      await leases.proveReleased(head, id);
      proved = id;
    }
  }

  /**
   * Waits for an opening that is on its way. A lease whose registration got no answer may have a row all the same. What was proved released meanwhile is
   * not closed: it may be somebody else's by now.
   */
  private closable(lease: Lease, opening: Promise<unknown>, { kind }: Resource, physical: Pick<Physical<unknown>, 'close'>): Open {
    const { head, leases, ports } = this.parts;
    return {
      name: kind,
      close: async () => {
        await opening.catch(() => undefined);
        if (lease.at !== 'gone') {
          const stored = await leases.move(head, lease.id, 'closing');
          if (stored === null || stored === 'closed') return;
          ports.reach('lease:closing');
          if (lease.at === 'opening') await physical.close(lease.id);
          lease.at = 'gone';
        }
        await leases.move(head, lease.id, 'closed');
        ports.reach('lease:closed');
      },
      failed: async (errorId) => lease.at === 'gone' || leases.move(head, lease.id, 'close_failed', errorId),
    };
  }

  private record(cause: unknown, category: string): SafeFailure {
    return this.parts.ports.recordError(cause, { context: this.parts.head.context, executionId: this.parts.head.id, category });
  }
}
