import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { HttpException, Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Engine } from '@engine/engine.js';
import { Config } from '@platform/config/config.js';
import type { PreparedConfig } from '@platform/database/prepared-config.js';
import { exitCodeOf, type Report } from '@platform/doctor/finding.js';
import { runDoctor } from '@platform/doctor/run-doctor.js';
import { HealthController } from '@platform/http/health.controller.js';
import { StartFailure } from '@platform/local/start-failure.js';
import type { Metrics } from '@platform/observability/metrics.js';
import { metricsToken } from '@platform/observability/observers.js';
import { measureProcess } from './process-figures.js';
import { find } from './find-provider.js';

type Answer = { readonly status: number; readonly type: string; readonly body: string };
const json = (status: number, body: unknown): Answer => ({ status, type: 'application/json; charset=utf-8', body: JSON.stringify(body) });

/**
 * What operators and their tools ask of this process, on a listener of its own: it asks for no credential and shows no content, so it belongs to a network
 * that tenants do not reach. Without `OPENBOT_PRIVATE_PORT` there is none.
 */
@Injectable()
export class PrivateServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private server: Server | null = null;
  private examining: Promise<Report> | null = null;

  constructor(
    @Inject(Config) private readonly config: PreparedConfig,
    @Inject(ModuleRef) private readonly modules: ModuleRef,
    @Inject(metricsToken) private readonly metrics: Metrics | null,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { privatePort, privateHost } = this.config;
    if (privatePort === null) return;
    if (this.metrics) measureProcess(this.metrics, this.modules);
    const server = createServer((request, response) => void this.serve(request, response));
    server.listen(privatePort, privateHost);
    await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
      throw new StartFailure(`Port ${privatePort} of ${privateHost} cannot be opened (${error.code}): choose another with OPENBOT_PRIVATE_PORT.`);
    });
    this.server = server;
  }

  /** Where it is reached; `null`: it listens to nobody. */
  get url(): string | null {
    const { privateHost } = this.config;
    return this.port === null ? null : `http://${privateHost.includes(':') ? `[${privateHost}]` : privateHost}:${this.port}`;
  }

  /** `null`: it listens to nobody. */
  get port(): number | null {
    return (this.server?.address() as AddressInfo | null)?.port ?? null;
  }

  async onApplicationShutdown(): Promise<void> {
    const { server } = this;
    if (!server) return;
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }

  private async serve({ method, url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const isRead = method === 'GET' || method === 'HEAD';
    const answer = isRead ? await this.answer(url.split('?', 1)[0] ?? '').catch(() => json(503, { status: 'unavailable' })) : json(405, { status: 'only GET and HEAD' });
    // To HEAD the server itself leaves the body out.
    response.writeHead(answer.status, { 'content-type': answer.type, 'cache-control': 'no-store', ...(isRead ? {} : { allow: 'GET, HEAD' }) }).end(answer.body);
  }

  private async answer(path: string): Promise<Answer> {
    switch (path) {
      case '/metrics':
        return this.metrics ? { status: 200, type: this.metrics.registry.contentType, body: await this.metrics.registry.metrics() } : json(404, { status: 'not found' });
      case '/doctor': {
        const report = await this.examine();
        return json(200, { node: this.config.nodeName, exitCode: exitCodeOf(report), ...report });
      }
      case '/health/live':
        return json(200, { status: 'live' });
      case '/health/ready':
        return this.readiness();
      default:
        return json(404, { status: 'not found' });
    }
  }

  /** Whoever asks while one look is under way gets its answer. */
  private examine(): Promise<Report> {
    const engine = find(this.modules, Engine);
    const strays = engine ? () => engine.strays() : null;
    this.examining ??= runDoctor({ url: this.config.databaseWorkerUrl, leaseMs: this.config.leaseMs, strays }).finally(() => (this.examining = null));
    return this.examining;
  }

  private async readiness(): Promise<Answer> {
    try {
      return json(200, await this.modules.get(HealthController, { strict: false }).ready());
    } catch (error) {
      return json(503, error instanceof HttpException ? error.getResponse() : { status: 'unavailable' });
    }
  }
}
