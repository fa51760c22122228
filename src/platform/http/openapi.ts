import { RequestMethod, type INestApplication } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/constants.js';
import { ModulesContainer } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { routeClassOf, type RouteClass } from '@domain/access/route-classes.js';
import { csrfHeader } from '@platform/identity/forgery.js';
import { permissionMetadata, type Permission } from '@platform/identity/identity.js';
import { sessionCookie } from '@platform/identity/session-cookie.js';
import { routeClassMetadata } from '@platform/limits/route-class.js';
import { commonSchemas, declareCommonProblems, operationsOf } from './declared-problems.js';

/** The order in which a newcomer meets the parts. A tag that is not named here follows in the order of the alphabet. */
const tagOrder = ['Sign-in', 'Me', 'Bots', 'Chats', 'Executions', 'Models', 'Organization', 'Projects', 'Health'];
const operationMetadata = 'swagger/apiOperation';

const description = `OpenBot runs AI agents as durable work: a message is answered with a receipt, and what it set off can be watched from any point on.

**A first conversation**

1. Press **Authorize** and paste the token that \`npm start\` printed (it is also in \`.openbot/local.json\`). List your bots with \`GET /v1/bots\`.
2. Send a message with \`POST /v1/bots/{botId}/messages\`: \`{"input": "Hello", "commandKey": "first"}\`. The receipt names the execution, the chat and the turn. The same key and input again give the same receipt.
3. Watch the answer with \`GET /v1/executions/{executionId}/observe\`, or read the finished one with \`GET /v1/chats/{chatId}/turns/{turnId}\`.

Errors are \`{"_tag", "message", …}\`: branch on \`_tag\`. Times are milliseconds since the epoch. Lists are \`{"items", "next"}\`. How often you may do what is in the headers \`RateLimit-Policy\` and \`RateLimit\` of every answer: branch on 429 \`RateLimited\` and wait for \`Retry-After\`.`;

/** The document of all controllers, with what they have in common: permissions, security, and the problems that any route may answer. */
export function openApiDocument(app: INestApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('OpenBot')
    .setDescription(description)
    .setVersion('1')
    .addServer('/', 'This server')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'opaque', description: 'A user token or an API key.' }, 'token')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'opaque', description: 'The token of a directory: good for SCIM alone.' }, 'directory')
    .addCookieAuth(sessionCookie, { type: 'apiKey', description: `A session. Requests that change something send \`${csrfHeader}\` too.` }, 'session')
    .build();
  const document = SwaggerModule.createDocument(app, config, { autoTagControllers: false });
  document.components = { ...document.components, schemas: { ...document.components?.schemas, ...commonSchemas } };

  const routes = routesOf(app);
  for (const [method, operation] of operationsOf(document)) {
    const { permission, routeClass = null } = routes.get(operation.operationId ?? '') ?? {};
    operation['x-permission'] = permission ?? null;
    if (routeClass) operation['x-rate-limit-class'] = routeClass;
    operation.security = permission === 'public' ? [] : permission === 'directory' ? [{ directory: [] }] : [{ token: [] }, { session: [] }];
    declareCommonProblems(method, operation, permission, routeClass);
  }
  const tags = new Set(operationsOf(document).flatMap(([, { tags: names = [] }]) => names));
  document.tags = [...tags].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b)).map((name) => ({ name }));
  return document;
}

const rank = (tag: string): number => (tagOrder.includes(tag) ? tagOrder.indexOf(tag) : tagOrder.length);

const handlersOf = (controller: unknown): object[] => {
  const prototype = (controller as { prototype?: Record<string, unknown> } | null)?.prototype ?? {};
  const methods = Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor');
  return methods.map((name) => prototype[name]).filter((value): value is () => unknown => typeof value === 'function');
};

function classOf(permission: Permission, method: string, named: RouteClass | undefined): RouteClass | null {
  if (permission === 'public') return null;
  return permission === 'directory' ? 'provisioning' : (named ?? routeClassOf(method, permission));
}

type Declared = { readonly permission: Permission; readonly routeClass: RouteClass | null };

/** What the decorators of a route say, by operation id. Read here so that they need not know of the document. */
function routesOf(app: INestApplication): Map<string, Declared> {
  const controllers = [...app.get(ModulesContainer).values()].flatMap((module) => [...module.controllers.values()]);
  const found = controllers
    .flatMap(({ metatype }) => handlersOf(metatype))
    .flatMap((handler): [string, Declared][] => {
      const permission = Reflect.getMetadata(permissionMetadata, handler) as Permission | undefined;
      const operation = Reflect.getMetadata(operationMetadata, handler) as { operationId?: string } | undefined;
      if (!permission || !operation?.operationId) return [];
      const named = Reflect.getMetadata(routeClassMetadata, handler) as RouteClass | undefined;
      const method = RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod];
      return [[operation.operationId, { permission, routeClass: classOf(permission, method, named) }]];
    });
  return new Map(found);
}

/** Swagger UI at /docs, to which the root leads, and the document at /openapi.json, built at the first request for either. */
export function serveDocumentation(app: INestApplication): void {
  SwaggerModule.setup('docs', app, () => openApiDocument(app), {
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    customSiteTitle: 'OpenBot API',
    swaggerOptions: { persistAuthorization: true, tryItOutEnabled: true, displayRequestDuration: true, docExpansion: 'list', defaultModelsExpandDepth: 0 },
  });
  app.getHttpAdapter().get('/', (_request: unknown, reply: FastifyReply) => void reply.redirect('/docs', 302));
}
