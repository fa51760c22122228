import { RequestMethod, type INestApplication } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { ModulesContainer } from '@nestjs/core';
import { openApiDocument } from '@platform/http/openapi.js';
import { permissionMetadata } from '@platform/identity/identity.js';

type Media = { readonly schema?: object; readonly examples?: Record<string, unknown>; readonly example?: unknown };
type Response = { readonly content?: Record<string, Media> };
type Operation = { readonly operationId?: string; readonly summary?: string; readonly tags?: readonly string[]; readonly responses: Record<string, Response> };

export type Route = { readonly controller: string; readonly place: string; readonly permission: unknown };

/** What the controllers declare, whether the document shows it or not. */
export function listRoutes(app: INestApplication): Route[] {
  return [...app.get(ModulesContainer).values()].flatMap((module) =>
    [...module.controllers.values()].flatMap(({ metatype }) => {
      const controller = metatype as { name: string; prototype: Record<string, unknown> };
      const base = String(Reflect.getMetadata(PATH_METADATA, controller) ?? '');
      return Object.getOwnPropertyNames(controller.prototype).flatMap((name) => {
        const handler = Object.getOwnPropertyDescriptor(controller.prototype, name)?.value as object | undefined;
        const method = handler && (Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined);
        if (!handler || method === undefined) return [];
        const path = `/${base}/${String(Reflect.getMetadata(PATH_METADATA, handler))}`.replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1');
        const place = `${(RequestMethod[method] ?? '').toLowerCase()} ${path.replace(/:(\w+)/g, '{$1}')}`;
        return [{ controller: controller.name, place, permission: Reflect.getMetadata(permissionMetadata, handler) as unknown }];
      });
    }),
  );
}

const isPermission = (permission: unknown): boolean =>
  typeof permission === 'string' && (permission === 'public' || permission === 'directory' || /^[a-z-]+\.[a-z-]+$/.test(permission));
const isDocumented = ({ content }: Response): boolean => {
  const json = content?.['application/json'] ?? content?.['application/scim+json'];
  return Boolean(json?.schema) && (json?.example !== undefined || Object.keys(json?.examples ?? {}).length > 0);
};

function findBare(place: string, { operationId, summary, tags, responses }: Operation): string[] {
  const statuses = Object.entries(responses);
  const errors = statuses.filter(([status]) => /^[45]/.test(status));
  return [
    ...(operationId && /^[a-z][A-Za-z]+$/.test(operationId) ? [] : ['has no operationId']),
    ...(summary && !summary.endsWith('.') ? [] : ['has no summary']),
    ...(tags?.length === 1 ? [] : ['has not one tag']),
    ...(statuses.some(([status]) => status.startsWith('2') || status === '302') ? [] : ['does not say what it answers when all is well']),
    ...statuses.filter(([status, { content }]) => /^20[0-3]$/.test(status) && !content).map(([status]) => `answers ${status} without a schema`),
    ...(errors.length > 0 ? [] : ['declares no error']),
    ...errors.filter(([, response]) => !isDocumented(response)).map(([status]) => `answers ${status} without schema and example`),
    // Whoever is sent to another place reads a page where there is none.
    ...(place.includes('{') && !responses['404'] && !responses['302'] ? ['does not say what is missing'] : []),
  ].map((finding) => `${place}: ${finding}`);
}

const repeated = (names: readonly string[]): string[] => names.filter((name, index) => names.indexOf(name) !== index);

/** What the routes of an application do not say, one line each. */
export function findBareRoutes(app: INestApplication): string[] {
  const routes = listRoutes(app);
  const operations = Object.entries(openApiDocument(app).paths).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Operation>).map(([method, operation]): [string, Operation] => [`${method} ${path}`, operation]),
  );
  const documented = operations.map(([place]) => place);
  const declared = routes.map(({ place }) => place);
  const controllers = [...new Set(routes.map(({ controller }) => controller))];
  return [
    ...declared.filter((place) => !documented.includes(place)).map((place) => `${place}: is not in the document`),
    ...documented.filter((place) => !declared.includes(place)).map((place) => `${place}: is in the document alone`),
    ...routes.filter(({ permission }) => !isPermission(permission)).map(({ place }) => `${place}: has no permission`),
    ...operations.flatMap(([place, operation]) => findBare(place, operation)),
    ...repeated(operations.map(([, { operationId }]) => operationId ?? '')).map((id) => `operationId ${id} is there twice`),
    ...controllers.filter((name) => routes.filter(({ controller }) => controller === name).length > 8).map((name) => `${name}: has more than eight routes`),
  ];
}
