import { Injectable, Logger, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { AskAgainCommand } from './commands/ask-again.command.js';

const everyMs = 5_000;
const mostAtOnce = 4;
/** In this time a question is asked and its answer stored, or another worker asks. */
const claimMs = 300_000;

/** Asks providers about the sessions that are due. Every worker runs one: each session is claimed by one of them, and by another if that one dies. */
@Injectable()
export class ProviderAsker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly log = new Logger(ProviderAsker.name);
  private timer: NodeJS.Timeout | null = null;
  private running: Promise<void> | null = null;

  constructor(
    @InjectDataSource('worker') private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => {
      this.running ??= this.askDue().finally(() => (this.running = null));
    }, everyMs).unref();
  }

  /** The pool is closed in the step after this one. */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.timer) clearInterval(this.timer);
    this.timer = null;
    await this.running;
  }

  private async askDue(): Promise<void> {
    try {
      while (this.timer) {
        const due = await this.db.query<{ o_organization: string; o_session: string }[]>('select * from claim_provider_sessions($1, $2)', [mostAtOnce, claimMs]);
        await Promise.all(due.map(({ o_organization, o_session }) => this.commands.execute(new AskAgainCommand(o_organization, o_session))));
        if (due.length < mostAtOnce) return;
      }
    } catch (error) {
      this.log.warn({ event: 'providers were not asked', code: (error as { code?: unknown } | null)?.code });
    }
  }
}
