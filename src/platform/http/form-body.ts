import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiConsumes } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';

/** Protocols of others send forms. A route that says so gets its body's fields as texts; all others refuse forms. */
export const AcceptForm = (): MethodDecorator => applyDecorators(RouteConfig({ acceptsForm: true }), ApiConsumes('application/x-www-form-urlencoded'));

export const acceptsForm = ({ routeOptions }: Pick<FastifyRequest, 'routeOptions'>): boolean => (routeOptions.config as { acceptsForm?: boolean }).acceptsForm === true;

/** The media type of RFC 7644 beside plain JSON, which it is. */
export const AcceptScim = (): MethodDecorator => applyDecorators(RouteConfig({ acceptsScim: true }), ApiConsumes('application/scim+json'));

export const acceptsScim = ({ routeOptions }: Pick<FastifyRequest, 'routeOptions'>): boolean => (routeOptions.config as { acceptsScim?: boolean }).acceptsScim === true;

/** `null`: a field is there twice, so that two readers could take different ones. */
export function parseForm(body: string): Readonly<Record<string, string>> | null {
  const fields = [...new URLSearchParams(body)];
  const names = new Set(fields.map(([name]) => name));
  return names.size === fields.length ? Object.assign(Object.create(null) as Record<string, string>, Object.fromEntries(fields)) : null;
}
