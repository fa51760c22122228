/**
 * Opens once and closes once. An AbortSignal costs more than all the rest of a step that sends nothing, so there is one only from the moment at which
 * somebody wants to listen.
 */
export class Gate {
  private controller: AbortController | null = null;
  private closing: { readonly reason: unknown } | null = null;

  static closed(reason: Error): Gate {
    const gate = new Gate();
    gate.close(reason);
    return gate;
  }

  get isClosed(): boolean {
    return this.closing !== null;
  }

  /** The first reason counts. */
  close(reason: unknown): void {
    if (this.closing) return;
    this.closing = { reason };
    this.controller?.abort(reason);
  }

  /** Throws the reason that it closed for. */
  assertOpen(): void {
    if (this.closing) throw this.closing.reason;
  }

  /** For whoever is told when it closes. */
  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      if (this.closing) this.controller.abort(this.closing.reason);
    }
    return this.controller.signal;
  }
}
