import helmet from '@fastify/helmet';
import { HttpException } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import type { Config } from '@platform/config/config.js';
import { ErrorRecords } from '@platform/observability/error-records.js';
import { bodyLimitBytes } from './adapter.js';
import { acceptsForm, acceptsScim, parseForm } from './form-body.js';
import { InputPipe } from './input.pipe.js';
import { invalidInput } from './invalid-input.js';
import { KnownRoutes } from './known-routes.js';
import { observeHttp } from './observe-http.js';
import { serveDocumentation } from './openapi.js';
import { ProblemFilter } from './problem.filter.js';
import { endStreamsOnClose } from './sse.js';
import { scimType } from './scim-error.js';
import { parseStrictJson } from './strict-json.js';
import { bodyOf, transportProblems } from './transport-problems.js';

/** Everything between the socket and the controllers. Call it once, before `app.init()` or `app.listen()`. */
export function configureHttp(app: NestFastifyApplication, config: Pick<Config, 'production'>): void {
  const server = app.getHttpAdapter().getInstance() as unknown as FastifyInstance;
  const routes = new KnownRoutes();
  routes.watch(server);
  observeHttp(app, server);
  endStreamsOnClose(server);
  acceptJson(app, server);
  void app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        baseUri: ["'none'"],
        frameAncestors: ["'none'"],
        objectSrc: ["'none'"],
        imgSrc: ["'self'", 'data:'],
        // Swagger UI carries its styles in the page.
        styleSrc: ["'self'", "'unsafe-inline'"],
      },
    },
    frameguard: { action: 'deny' },
    // On plain HTTP in development the header would lock the browser out of the next tool on this host.
    hsts: config.production,
  });
  server.addHook('onRequest', (request, reply, done) => {
    // What is somebody's is kept by nobody on the way, nor by the browser after they signed out.
    if (/^\/(v1|auth|scim)\//.test(request.url)) void reply.header('cache-control', 'no-store');
    done();
  });
  app.useGlobalPipes(new InputPipe());
  app.useGlobalFilters(new ProblemFilter(app.get(ErrorRecords), routes));
  serveDocumentation(app);
}

/** A body is strict JSON or 415, but where a route takes forms: Nest's own form parser and Fastify's text parser would hand unchecked text on. */
function acceptJson(app: NestFastifyApplication, server: FastifyInstance): void {
  for (const type of ['application/json', scimType]) {
    app.useBodyParser(type, { bodyLimit: bodyLimitBytes }, (request, body, done) => {
      if (type === scimType && !acceptsScim(request)) return done(new HttpException(bodyOf('UnsupportedMediaType'), transportProblems.UnsupportedMediaType.status));
      try {
        done(null, parseStrictJson(body as Buffer));
      } catch (error) {
        done(error as Error);
      }
    });
  }
  app.useBodyParser('application/x-www-form-urlencoded', { bodyLimit: bodyLimitBytes }, (request, body, done) => {
    const { status } = transportProblems.UnsupportedMediaType;
    if (!acceptsForm(request)) return done(new HttpException(bodyOf('UnsupportedMediaType'), status));
    const fields = parseForm(String(body));
    return fields ? done(null, fields) : done(invalidInput('request', 'names a field twice'));
  });
  server.removeContentTypeParser('text/plain');
}
