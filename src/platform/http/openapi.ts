import type { INestApplication } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { permissionMetadata, type Permission } from '@platform/identity/identity.js';
import { commonSchemas, declareCommonProblems, operationsOf } from './declared-problems.js';

/** The order in which a newcomer meets the parts. A tag that is not named here follows in the order of the alphabet. */
const tagOrder = ['Me', 'Bots', 'Chats', 'Executions', 'Models', 'Organization', 'Projects', 'Health'];
const operationMetadata = 'swagger/apiOperation';

const description = `OpenBot runs AI agents as durable work: a message is answered with a receipt, and what it set off can be watched from any point on.

**A first conversation**

1. Press **Authorize** and paste the token that \`npm start\` printed (it is also in \`.openbot/local.json\`). List your bots with \`GET /v1/bots\`.
2. Send a message with \`POST /v1/bots/{botId}/messages\`: \`{"input": "Hello", "commandKey": "first"}\`. The receipt names the execution, the chat and the turn. The same key and input again give the same receipt.
3. Watch the answer with \`GET /v1/executions/{executionId}/observe\`, or read the finished one with \`GET /v1/chats/{chatId}/turns/{turnId}\`.

Errors are \`{"_tag", "message", …}\`: branch on \`_tag\`. Times are milliseconds since the epoch. Lists are \`{"items", "next"}\`.`;

/** The document of all controllers, with what they have in common: permissions, security, and the problems that any route may answer. */
export function openApiDocument(app: INestApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('OpenBot')
    .setDescription(description)
    .setVersion('1')
    .addServer('/', 'This server')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'opaque', description: 'A user token or an API key.' }, 'token')
    .build();
  const document = SwaggerModule.createDocument(app, config, { autoTagControllers: false });
  document.components = { ...document.components, schemas: { ...document.components?.schemas, ...commonSchemas } };

  const permissions = permissionsOf(app);
  for (const operation of operationsOf(document)) {
    const permission = permissions.get(operation.operationId ?? '');
    const isPublic = permission === 'public';
    operation['x-permission'] = permission ?? null;
    operation.security = isPublic ? [] : [{ token: [] }];
    declareCommonProblems(operation, permission);
  }
  const tags = new Set(operationsOf(document).flatMap(({ tags: names = [] }) => names));
  document.tags = [...tags].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b)).map((name) => ({ name }));
  return document;
}

const rank = (tag: string): number => (tagOrder.includes(tag) ? tagOrder.indexOf(tag) : tagOrder.length);

const handlersOf = (controller: unknown): object[] => {
  const prototype = (controller as { prototype?: Record<string, unknown> } | null)?.prototype ?? {};
  const methods = Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor');
  return methods.map((name) => prototype[name]).filter((value): value is () => unknown => typeof value === 'function');
};

/** What `@Permit` says, by operation id. Read here so that the decorator need not know of the document. */
function permissionsOf(app: INestApplication): Map<string, Permission> {
  const controllers = [...app.get(ModulesContainer).values()].flatMap((module) => [...module.controllers.values()]);
  const found = controllers
    .flatMap(({ metatype }) => handlersOf(metatype))
    .flatMap((handler): [string, Permission][] => {
      const permission = Reflect.getMetadata(permissionMetadata, handler) as Permission | undefined;
      const operation = Reflect.getMetadata(operationMetadata, handler) as { operationId?: string } | undefined;
      return permission && operation?.operationId ? [[operation.operationId, permission]] : [];
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
