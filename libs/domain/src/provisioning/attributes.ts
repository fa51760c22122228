/** What JSON can say, as it came out of a parser. */
export type Json = string | number | boolean | null | Json[] | JsonObject;
export type JsonObject = { [name: string]: Json };

export const coreUser = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const coreGroup = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const enterpriseUser = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

/** Names of attributes, in the one spelling that we hand out: in requests their case does not count (RFC 7643, 2.1). */
const spelled = new Map(
  [
    ...['schemas', 'id', 'externalId', 'meta', 'userName', 'name', 'formatted', 'familyName', 'givenName', 'middleName', 'honorificPrefix', 'honorificSuffix', 'displayName'],
    ...['nickName', 'profileUrl', 'title', 'userType', 'preferredLanguage', 'locale', 'timezone', 'active', 'password', 'emails', 'phoneNumbers', 'ims', 'photos', 'addresses'],
    ...['streetAddress', 'locality', 'region', 'postalCode', 'country', 'groups', 'entitlements', 'roles', 'x509Certificates', 'value', 'display', 'type', 'primary', '$ref'],
    ...['members', 'employeeNumber', 'costCenter', 'organization', 'division', 'department', 'manager', enterpriseUser],
  ].map((name) => [name.toLowerCase(), name]),
);
/** Keys that reach an object's prototype when code copies them. */
const unsafe = new Set(['__proto__', 'constructor', 'prototype']);
export const isSafeName = (name: string): boolean => !unsafe.has(name.toLowerCase());
export const spellingOf = (name: string): string => spelled.get(name.toLowerCase()) ?? name;

const extension = /^(urn:[\w.:-]*:\d+\.\d+:\w+)(?::(.+))?$/i;
const names = /^[a-z$][\w$-]*(?:\.[a-z$][\w$-]*)*$/i;

/** The names that lead to an attribute; the schema of an extension is the first of them. `null`: this is no path. */
export function segmentsOf(path: string): readonly string[] | null {
  const [, schema, rest] = extension.exec(path) ?? [null, null, path];
  if (rest !== undefined && !names.test(rest)) return null;
  const found = rest?.split('.') ?? [];
  const isCore = schema == null || [coreUser, coreGroup].some((core) => core.toLowerCase() === schema.toLowerCase());
  const segments = (isCore ? found : [schema, ...found]).map(spellingOf);
  return segments.length > 0 && segments.every(isSafeName) ? segments : null;
}

export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The key by which an object has an attribute, whatever its case; the spelling of a new one. */
export const keyIn = (object: JsonObject, name: string): string => Object.keys(object).find((key) => key.toLowerCase() === name.toLowerCase()) ?? spellingOf(name);
export function valueOf(object: JsonObject, name: string): Json | undefined {
  const key = keyIn(object, name);
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
