import { nameLimit } from '../organizations/member.js';
import { ok, type Result } from '../result.js';
import { coreUser, isObject, isSafeName, spellingOf, valueOf, type Json, type JsonObject } from './attributes.js';
import type { ScimInvalid } from './failures.js';
import { invalid } from './patch.js';

/** What a directory says of a person. `resource`: all that it sent, but for what is ours to say and what nobody should keep. */
export type DirectoryPerson = {
  readonly userName: string;
  readonly externalId: string | null;
  readonly displayName: string | null;
  readonly emails: readonly string[];
  readonly active: boolean;
  readonly resource: JsonObject;
};

/** Characters. */
const [longestName, longestAddress, longestResource] = [256, 254, 64 * 1_024];
const mostEmails = 50;
/** Ours to say, or a secret that we have no use for. */
const dropped = new Set(['id', 'meta', 'groups', 'password', 'schemas']);

/** Every name in its one spelling, and nothing that says nothing. */
export function spelledOut(value: Json): Json {
  if (Array.isArray(value)) return value.filter((each) => each !== null).map(spelledOut);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([key, inner]) => inner !== null && isSafeName(key));
  return Object.fromEntries(entries.map(([key, inner]) => [spellingOf(key), spelledOut(inner)]));
}

/** Some directories send texts for booleans. */
export function booleanOf(value: Json | undefined): boolean | null {
  if (typeof value === 'boolean') return value;
  return typeof value === 'string' && /^(?:true|false)$/i.test(value) ? value.toLowerCase() === 'true' : null;
}

/** What a resource says. `before`: whether they were active, which nobody changes by leaving it out. */
export function readPerson(given: JsonObject, before: boolean): Result<DirectoryPerson, ScimInvalid> {
  const resource = Object.fromEntries(Object.entries(spelledOut(given) as JsonObject).filter(([key]) => !dropped.has(key)));
  const { userName, emails = [] } = resource;
  const [externalId, displayName] = [textOf(resource, 'externalId'), textOf(resource, 'displayName')];
  if (!externalId.ok) return externalId;
  if (!displayName.ok) return displayName;
  if (typeof userName !== 'string' || userName.trim() === '' || userName.length > longestName)
    return invalid('invalidValue', `userName is a text of 1 to ${longestName} characters.`);
  const active = resource['active'] === undefined ? before : booleanOf(resource['active']);
  if (active === null) return invalid('invalidValue', 'active is true or false.');
  const addresses = addressesOf(emails);
  if (!addresses) return invalid('invalidValue', `emails are at most ${mostEmails} objects, each with a value of at most ${longestAddress} characters.`);
  if (JSON.stringify(resource).length > longestResource) return invalid('invalidValue', `A user has at most ${longestResource} characters.`);
  return ok({ userName, externalId: externalId.value, displayName: displayName.value, emails: addresses, active, resource: { ...resource, active } });
}

/** `null`: there is none. */
export function textOf(resource: JsonObject, name: string): Result<string | null, ScimInvalid> {
  const value = resource[name] ?? null;
  return value === null || (typeof value === 'string' && value.length <= longestName)
    ? ok(value)
    : invalid('invalidValue', `${name} is a text of at most ${longestName} characters.`);
}

function addressesOf(emails: Json): readonly string[] | null {
  if (!Array.isArray(emails) || emails.length > mostEmails) return null;
  const values = emails.map((each) => (isObject(each) ? valueOf(each, 'value') : each)).filter((value) => value !== undefined);
  return values.every((value) => typeof value === 'string' && value.length <= longestAddress) ? (values as string[]) : null;
}

/** The address by which somebody is a member: the primary one, else that of their work, else the first, else a userName that is one. */
export function addressOf({ userName, resource }: Pick<DirectoryPerson, 'userName' | 'resource'>): string | null {
  const emails = Array.isArray(resource['emails']) ? resource['emails'].filter(isObject).filter(({ value }) => value !== undefined) : [];
  const chosen = emails.find(({ primary }) => booleanOf(primary) === true) ?? emails.find(({ type }) => type === 'work') ?? emails[0];
  const address = chosen ? chosen['value'] : userName;
  return typeof address === 'string' && /^[^\s@]+@[^\s@]+$/.test(address) && address.length <= longestAddress ? address : null;
}

/** What people here see of them. */
export function nameOf({ userName, displayName, resource }: Pick<DirectoryPerson, 'userName' | 'displayName' | 'resource'>): string {
  const { formatted, givenName, familyName } = isObject(resource['name']) ? resource['name'] : ({} as JsonObject);
  const parts = [givenName, familyName].filter((part): part is string => typeof part === 'string' && part !== '').join(' ');
  const name = [displayName, formatted, parts, userName].find((each) => typeof each === 'string' && each.trim() !== '') as string;
  return [...name.trim()].slice(0, nameLimit).join('');
}

/** The schemas that a resource has something of. */
export const schemasOf = (core: string, resource: JsonObject): string[] => [core, ...Object.keys(resource).filter((key) => key.startsWith('urn:'))];
export const userSchemas = (resource: JsonObject): string[] => schemasOf(coreUser, resource);
