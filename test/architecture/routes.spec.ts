import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { ModulesContainer } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { openApiDocument } from '@platform/http/openapi.js';
import { permissionMetadata } from '@platform/identity/identity.js';
import { openRealApp } from './real-app.js';

type Media = { readonly schema?: object; readonly examples?: Record<string, unknown>; readonly example?: unknown };
type Operation = {
  readonly operationId?: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly responses: Record<string, { readonly description?: string; readonly content?: Record<string, Media> }>;
};
type Route = { readonly controller: string; readonly handler: string; readonly place: string; readonly permission: unknown };

let app: NestFastifyApplication;
let close: () => Promise<void>;
let routes: Route[];
let operations: [place: string, operation: Operation][];

function listRoutes(): Route[] {
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
        return [{ controller: controller.name, handler: `${controller.name}.${name}`, place, permission: Reflect.getMetadata(permissionMetadata, handler) as unknown }];
      });
    }),
  );
}

beforeAll(async () => {
  ({ app, close } = await openRealApp());
  routes = listRoutes();
  operations = Object.entries(openApiDocument(app).paths).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Operation>).map(([method, operation]): [string, Operation] => [`${method} ${path}`, operation]),
  );
});
afterAll(() => close?.());

const places = (which: (operation: Operation) => boolean): string[] => operations.filter(([, operation]) => which(operation)).map(([place]) => place);

describe('every route', () => {
  test('is in the document, and nothing else is', () => {
    expect(operations.map(([place]) => place).toSorted()).toEqual(routes.map(({ place }) => place).toSorted());
    expect(routes.length).toBeGreaterThan(10);
  });

  test('names the permission that it needs', () => {
    const named = (permission: unknown): boolean => typeof permission === 'string' && (permission === 'public' || /^[a-z-]+\.[a-z-]+$/.test(permission));
    expect(routes.filter(({ permission }) => !named(permission)).map(({ handler }) => handler)).toEqual([]);
  });

  test('has an operationId of its own, a summary and one tag', () => {
    expect(places(({ operationId }) => !operationId || !/^[a-z][A-Za-z]+$/.test(operationId))).toEqual([]);
    const ids = operations.map(([, { operationId }]) => operationId);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    expect(places(({ summary }) => !summary || summary.endsWith('.'))).toEqual([]);
    expect(places(({ tags }) => tags?.length !== 1)).toEqual([]);
  });

  test('declares what it answers when all is well', () => {
    expect(places(({ responses }) => !Object.keys(responses).some((status) => status.startsWith('2')))).toEqual([]);
    expect(
      operations.flatMap(([place, { responses }]) =>
        Object.entries(responses)
          .filter(([status, { content }]) => /^20[0-3]$/.test(status) && !content)
          .map(([status]) => `${place} ${status}`),
      ),
    ).toEqual([]);
  });

  test('declares its errors, each with a schema and an example', () => {
    expect(places(({ responses }) => !Object.keys(responses).some((status) => status.startsWith('4') || status.startsWith('5')))).toEqual([]);
    const vague = operations.flatMap(([place, { responses }]) =>
      Object.entries(responses).flatMap(([status, { content }]) => {
        if (!/^[45]/.test(status)) return [];
        const json = content?.['application/json'];
        return json?.schema && (json.example ?? Object.keys(json.examples ?? {}).length) ? [] : [`${place} ${status}`];
      }),
    );
    expect(vague).toEqual([]);
  });

  test('that names a thing in its path declares that the thing may be missing', () => {
    expect(operations.filter(([place, { responses }]) => place.includes('{') && !responses['404']).map(([place]) => place)).toEqual([]);
  });

  test('has at most seven neighbours in its controller', () => {
    const controllers = [...new Set(routes.map(({ controller }) => controller))];
    expect(controllers.filter((controller) => routes.filter((route) => route.controller === controller).length > 8)).toEqual([]);
  });
});
