import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { JsonObject } from '@domain/provisioning/attributes.js';
import type { ScimInvalid, ScimLastOwner, ScimNotFound, ScimTaken, ScimVersionConflict } from '@domain/provisioning/failures.js';
import { applyPatch, type PatchOperation } from '@domain/provisioning/patch.js';
import { nameOf, readPerson, type DirectoryPerson } from '@domain/provisioning/user.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { FindProviderQuery } from '@contexts/identity-providers/public/find-provider.query.js';
import { LockMembersCommand } from '@contexts/organizations/public/lock-members.command.js';
import { NameMemberCommand } from '@contexts/organizations/public/name-member.command.js';
import type { Tx } from '@engine/tx.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { transact } from '@platform/database/transact.js';
import type { Directory } from '@platform/identity/directory.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { findUser, isNameTaken, updateUser, type UserRow } from '../queries/users.js';
import { placeMembers } from './place-member.js';

export type ChangeUserFailure = ScimInvalid | ScimTaken | ScimNotFound | ScimVersionConflict | ScimLastOwner;
/** A PUT says all of a person, a PATCH what changes. */
export type UserChange = { readonly resource: JsonObject } | { readonly operations: readonly PatchOperation[] };

/** `revision`: the one that the directory has read; `null`: whatever it is. */
export class ChangeUserCommand extends Command<Result<UserRow, ChangeUserFailure>> {
  constructor(
    readonly directory: Directory,
    readonly id: string,
    readonly revision: number | null,
    readonly change: UserChange,
  ) {
    super();
  }
}

@CommandHandler(ChangeUserCommand)
export class ChangeUserHandler implements ICommandHandler<ChangeUserCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly wake: WakeChannel,
  ) {}

  async execute({ directory, id, revision, change }: ChangeUserCommand): Promise<Result<UserRow, ChangeUserFailure>> {
    const changed = await transact<Result<{ readonly row: UserRow; readonly touched: readonly string[] }, ChangeUserFailure>>(this.db, directory.context, async (tx) => {
      await this.commands.execute(new LockMembersCommand(tx));
      const provider = await this.queries.execute(new FindProviderQuery(directory.providerId, tx));
      const before = provider && (await findUser(tx, provider.id, id));
      if (!before) return fail({ _tag: 'ScimNotFound' });
      if (revision !== null && revision !== before.revision) return fail({ _tag: 'ScimVersionConflict' });
      const person = personAfter(before, change);
      if (!person.ok) return person;
      if (await isNameTaken(tx, provider.id, person.value.userName, id))
        return fail({ _tag: 'ScimTaken', scimType: 'uniqueness', detail: 'Another user of this directory has this userName.' });
      const row = await this.store(tx, directory, before, person.value);
      // Also where nothing changed: what the groups of a person make of them may have.
      const placed = await placeMembers(tx, { commands: this.commands, queries: this.queries, context: directory.context }, provider, [row]);
      return placed.ok ? ok({ row, touched: placed.value }) : fail({ _tag: 'ScimLastOwner' });
    });
    if (!changed.ok) return changed;
    this.wake.publish(changed.value.touched);
    return ok(changed.value.row);
  }

  private async store(tx: Tx, { tokenId }: Directory, before: UserRow, person: DirectoryPerson): Promise<UserRow> {
    if (isSame(before.resource, person.resource)) return before;
    const who = { kind: 'service', service: 'directory', onBehalfOf: before.member_id } as const;
    const detail = { active: person.active, token: toPublicId('scimToken', tokenId) };
    await this.commands.execute(new RecordAuditCommand(tx, who, { action: 'directory_user.changed', target: before.id, detail }));
    const [name, nameBefore] = [nameOf(person), nameOf({ userName: before.user_name, displayName: before.display_name, resource: before.resource })];
    // What somebody calls themselves here stays until their directory calls them otherwise.
    if (name !== nameBefore) await this.commands.execute(new NameMemberCommand(who, before.member_id, name, tx));
    return updateUser(tx, before.id, person);
  }
}

function personAfter({ resource, active }: UserRow, change: UserChange): Result<DirectoryPerson, ScimInvalid> {
  if ('resource' in change) return readPerson(change.resource, active);
  const patched = applyPatch(resource, change.operations);
  return patched.ok ? readPerson(patched.value, active) : patched;
}

/** The database keeps no order of keys. */
const isSame = (a: JsonObject, b: JsonObject): boolean => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(
        Object.entries(value)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, inner]) => [key, sorted(inner)]),
      )
    : value;
};
