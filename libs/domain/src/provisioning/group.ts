import { ok, type Result } from '../result.js';
import { isObject, valueOf, type Json, type JsonObject } from './attributes.js';
import type { ScimInvalid } from './failures.js';
import type { Filter } from './filter.js';
import { invalid, type PatchOperation } from './patch.js';
import { spelledOut, textOf } from './user.js';

/** What a directory says of a group. `members`: ids as they were sent. */
export type DirectoryGroup = { readonly displayName: string; readonly externalId: string | null; readonly members: readonly string[] };

/**
 * What becomes of a group, whose members are not read for it: there may be very many. `all`: those in `added` are all members, else they come to those that there
 * are. What is undefined stays as it is.
 */
export type GroupChange = {
  readonly displayName?: string;
  readonly externalId?: string | null;
  readonly all: boolean;
  readonly added: ReadonlySet<string>;
  readonly removed: ReadonlySet<string>;
};

const nameMissing = (): Result<never, ScimInvalid> => invalid('invalidValue', 'displayName is a text of 1 to 256 characters.');

function idsOf(value: Json | undefined): Result<readonly string[], ScimInvalid> {
  const ids = [value ?? []].flat().map((each) => (isObject(each) ? valueOf(each, 'value') : each));
  return ids.every((id) => typeof id === 'string') ? ok(ids as string[]) : invalid('invalidValue', 'members are objects, each with the id of a user as its value.');
}

export function readGroup(given: JsonObject): Result<DirectoryGroup, ScimInvalid> {
  const resource = spelledOut(given) as JsonObject;
  const [displayName, externalId, members] = [textOf(resource, 'displayName'), textOf(resource, 'externalId'), idsOf(resource['members'])];
  if (!externalId.ok) return externalId;
  if (!members.ok) return members;
  if (!displayName.ok || !displayName.value?.trim()) return nameMissing();
  return ok({ displayName: displayName.value, externalId: externalId.value, members: members.value });
}

export const replaced = ({ members, ...said }: DirectoryGroup): GroupChange => ({ ...said, all: true, added: new Set(members), removed: new Set() });

/** Those whom a filter of members names: by their ids, and no otherwise. */
function namedBy(filter: Filter): readonly string[] | null {
  if (filter.op === 'eq' && filter.path.join() === 'value' && typeof filter.value === 'string') return [filter.value];
  if (filter.op !== 'or') return null;
  const named = filter.of.map(namedBy);
  return named.includes(null) ? null : named.flatMap((each) => each ?? []);
}

/** What the operations of a PATCH make of a group, one after the other. */
export function patchGroup(operations: readonly PatchOperation[]): Result<GroupChange, ScimInvalid> {
  let said: Pick<GroupChange, 'displayName' | 'externalId'> = {};
  const members = { all: false, added: new Set<string>(), removed: new Set<string>() };
  for (const operation of operations) {
    const [name] = operation.target.path;
    if (name === 'id') return invalid('mutability', 'An id does not change.');
    if (name === 'members') {
      const changed = changeMembers(members, operation);
      if (!changed.ok) return changed;
    } else if (name === 'displayName' || name === 'externalId') {
      const text = operation.op === 'remove' ? ok(null) : textOf({ [name]: operation.value! }, name);
      if (!text.ok) return text;
      if (name === 'displayName' && !text.value?.trim()) return nameMissing();
      said = { ...said, [name]: text.value };
    }
  }
  return ok({ ...said, ...members });
}

type Members = { all: boolean; added: Set<string>; removed: Set<string> };

function changeMembers(members: Members, { op, target: { filter }, value }: PatchOperation): Result<null, ScimInvalid> {
  const named = filter && namedBy(filter);
  if (filter && !named) return invalid('invalidFilter', 'Members are named by their value: members[value eq "…"].');
  if (named && op !== 'remove') return invalid('noTarget', 'A member has nothing that changes: add or remove it.');
  const ids = named ? ok(named) : idsOf(value);
  if (!ids.ok) return ids;
  if (op === 'replace' || (op === 'remove' && !named && value == null)) {
    Object.assign(members, { all: true, added: new Set<string>(), removed: new Set<string>() });
    if (op === 'remove') return ok(null);
  }
  const [to, from] = op === 'remove' ? [members.removed, members.added] : [members.added, members.removed];
  for (const id of ids.value) {
    to.add(id);
    from.delete(id);
  }
  return ok(null);
}
