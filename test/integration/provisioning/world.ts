import { openWorld, type World } from '../identity-providers/world.js';
import type { Caller } from '@test/support/app.js';

/* eslint-disable @typescript-eslint/no-explicit-any -- answers of routes are looked at field by field */
export type ScimAnswer = { readonly status: number; readonly body: any; readonly headers: Headers; readonly text: string };
export type Scim = (method: string, path: string, body?: object | string, headers?: Readonly<Record<string, string>>) => Promise<ScimAnswer>;

/** Calls as a directory does, with its token. */
export const scimOf =
  (url: string, token: string | null): Scim =>
  async (method, path, body, headers = {}) => {
    const response = await fetch(`${url}/scim/v2${path}`, {
      method,
      headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...(body === undefined ? {} : { 'content-type': 'application/scim+json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : JSON.parse(text), headers: response.headers, text };
  };

export type Connected = { readonly owner: Caller; readonly providerId: string; readonly token: string; readonly tokenId: string; readonly scim: Scim };

/** A new organization whose identity provider has a directory. */
export async function connectDirectory(world: World, more: object = {}, domains: readonly string[] = ['example.com']): Promise<Connected> {
  const owner = await world.app.createTenant();
  return { owner, ...(await addDirectory(world, owner, more, domains)) };
}

export async function addDirectory(world: World, owner: Caller, more: object = {}, domains: readonly string[] = []): Promise<Omit<Connected, 'owner'>> {
  const { id: providerId } = await world.connect(owner, more, domains);
  const made = await owner.call('POST', `/v1/organization/identity-providers/${providerId}/scim-tokens`, { name: 'Directory' });
  if (made.status !== 201) throw new Error(made.text);
  const token = made.body['token'] as string;
  return { providerId, token, tokenId: made.body['id'] as string, scim: scimOf(world.app.url, token) };
}

let people = 0;
/** Somebody as a directory creates them. */
export function person(more: object = {}): { readonly userName: string } & Record<string, unknown> {
  people += 1;
  const userName = `ada.${people}@example.com`;
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    userName,
    externalId: `ext-${people}`,
    name: { givenName: 'Ada', familyName: `Lovelace ${people}` },
    emails: [{ value: userName, type: 'work', primary: true }],
    active: true,
    ...more,
  };
}

export const patchOf = (...operations: object[]): object => ({ schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'], Operations: operations });

/** The member with an address, as the owner sees them. */
export async function memberOf(owner: Caller, email: string): Promise<any> {
  const { body } = await owner.call('GET', '/v1/organization/members?limit=100');
  return (body['items'] as { email: string }[]).find((each) => each.email === email);
}

export { openWorld, type World };
