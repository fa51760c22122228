import { Controller, Get, HttpCode, HttpException, Inject, type OnModuleDestroy } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import type { DataSource } from 'typeorm';
import { Permit } from '@platform/identity/identity.js';
import { processDatabase } from '@platform/secrets/process-database.js';
import { ApiProblems, type Problem } from './problem.js';

const answerMs = 2_000;
/** Probes of several balancers share one query. */
const freshMs = 1_000;

const readyProblems = { NotReady: { status: 503, message: 'This process takes no requests at the moment.' } } satisfies Record<string, Problem>;

export class HealthView {
  @ApiProperty({ enum: ['live', 'ready'] }) status: 'live' | 'ready';
}

@ApiTags('Health')
@Controller('health')
export class HealthController implements OnModuleDestroy {
  private leaving = false;
  private answered: { readonly at: number; readonly answer: Promise<boolean> } | null = null;

  constructor(@Inject(processDatabase) private readonly db: DataSource) {}

  /** The first step of leaving: balancers look elsewhere while running work comes to its end. */
  onModuleDestroy(): void {
    this.leaving = true;
  }

  @Get('live')
  @HttpCode(200)
  @Permit('public')
  @ApiOperation({ operationId: 'readLiveness', summary: 'Whether the process runs' })
  @ApiOkResponse({ type: HealthView })
  live(): HealthView {
    return { status: 'live' };
  }

  @Get('ready')
  @HttpCode(200)
  @Permit('public')
  @ApiOperation({ operationId: 'readReadiness', summary: 'Whether the process takes requests' })
  @ApiOkResponse({ type: HealthView })
  @ApiProblems(readyProblems)
  async ready(): Promise<HealthView> {
    const reason = this.leaving ? 'leaving' : (await this.databaseAnswers()) ? null : 'database';
    if (reason !== null) throw new HttpException({ _tag: 'NotReady', reason, message: readyProblems.NotReady.message }, readyProblems.NotReady.status);
    return { status: 'ready' };
  }

  private databaseAnswers(): Promise<boolean> {
    if (!this.answered || performance.now() - this.answered.at > freshMs) this.answered = { at: performance.now(), answer: this.ask() };
    return this.answered.answer;
  }

  private async ask(): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => (timer = setTimeout(resolve, answerMs, false)));
    const asked = this.db.query('select 1').then(
      () => true,
      () => false,
    );
    const answer = await Promise.race([asked, late]);
    clearTimeout(timer);
    return answer;
  }
}
