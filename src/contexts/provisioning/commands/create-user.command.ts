import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { admit } from '@domain/identity-providers/admission.js';
import type { JsonObject } from '@domain/provisioning/attributes.js';
import type { ScimInvalid, ScimLastOwner, ScimNotFound, ScimTaken } from '@domain/provisioning/failures.js';
import { invalid } from '@domain/provisioning/patch.js';
import { addressOf, nameOf, readPerson, type DirectoryPerson } from '@domain/provisioning/user.js';
import { fail, ok, type Result } from '@domain/result.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { FindProviderQuery, SpeaksForQuery, type FoundProvider } from '@contexts/identity-providers/public/find-provider.query.js';
import { AdmitVouchedCommand } from '@contexts/organizations/public/admit-vouched.command.js';
import { LockMembersCommand } from '@contexts/organizations/public/lock-members.command.js';
import { WasRemovedQuery } from '@contexts/organizations/public/member.queries.js';
import type { Tx } from '@engine/tx.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { transact } from '@platform/database/transact.js';
import type { Directory } from '@platform/identity/directory.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { insertUser, isNameTaken, type UserRow } from '../queries/users.js';
import { findMemberBy } from './follow-member.js';
import { placeMembers } from './place-member.js';

export type CreateUserFailure = ScimInvalid | ScimTaken | ScimNotFound | ScimLastOwner;
type Joined = { readonly memberId: string; readonly inGroups: boolean };

const taken = (detail: string): Result<never, ScimTaken> => fail({ _tag: 'ScimTaken', scimType: 'uniqueness', detail });

/** Takes in a person of whom a directory tells: a new member, or one who was there before with an address that the directory's provider speaks for. */
export class CreateUserCommand extends Command<Result<UserRow, CreateUserFailure>> {
  constructor(
    readonly directory: Directory,
    readonly given: JsonObject,
  ) {
    super();
  }
}

@CommandHandler(CreateUserCommand)
export class CreateUserHandler implements ICommandHandler<CreateUserCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly wake: WakeChannel,
  ) {}

  async execute({ directory, given }: CreateUserCommand): Promise<Result<UserRow, CreateUserFailure>> {
    const person = readPerson(given, true);
    if (!person.ok) return person;
    const made = await transact<Result<{ readonly row: UserRow; readonly touched: readonly string[] }, CreateUserFailure>>(this.db, directory.context, async (tx) => {
      await this.commands.execute(new LockMembersCommand(tx));
      const provider = await this.queries.execute(new FindProviderQuery(directory.providerId, tx));
      if (!provider) return fail({ _tag: 'ScimNotFound' });
      if (await isNameTaken(tx, provider.id, person.value.userName, null)) return taken('Another user of this directory has this userName.');
      const joined = await this.join(tx, directory, provider, person.value);
      if (!joined.ok) return joined;
      const row = await insertUser(tx, { id: uuidv7(), providerId: provider.id, person: person.value, ...joined.value });
      const detail = { member: toPublicId('member', row.member_id), token: toPublicId('scimToken', directory.tokenId) };
      const who = { kind: 'service', service: 'directory', onBehalfOf: row.member_id } as const;
      await this.commands.execute(new RecordAuditCommand(tx, who, { action: 'directory_user.created', target: row.id, detail }));
      const placed = await placeMembers(tx, { commands: this.commands, queries: this.queries, context: directory.context }, provider, [row]);
      return placed.ok ? ok({ row, touched: placed.value }) : fail({ _tag: 'ScimLastOwner' });
    });
    if (!made.ok) return made;
    this.wake.publish(made.value.touched);
    return ok(made.value.row);
  }

  /** Who they are here. An address alone takes no account: its domain is shown to be the organization's, and nobody else signs in or is told of by it. */
  private async join(tx: Tx, { context }: Directory, { id: providerId, rules }: FoundProvider, person: DirectoryPerson): Promise<Result<Joined, CreateUserFailure>> {
    const email = addressOf(person);
    if (email === null) return invalid('invalidValue', 'A user needs an e-mail address: in emails, or as the userName.');
    const owner = await findMemberBy(tx, { queries: this.queries, context }, providerId, email);
    const domainIsOurs = await this.queries.execute(new SpeaksForQuery(providerId, email, tx));
    if (!owner && (await this.queries.execute(new WasRemovedQuery(email, tx))))
      return invalid('invalidValue', 'People here removed somebody with this address, who comes back by an invitation.');
    const needsGroup = rules.defaultRole === null;
    if (needsGroup && rules.groupRoles.length === 0) return invalid('invalidValue', 'The identity provider lets nobody in without a group, and maps no group to a role.');
    const admitted = admit({
      assertion: { subject: person.userName, email, emailVerified: true, name: nameOf(person), groups: null },
      // A directory brings people in whom nobody invited: that is what its token is for. Who needs a group waits for it as a viewer who may do nothing.
      rules: { ...rules, admits: true, defaultRole: rules.defaultRole ?? 'viewer' },
      domainIsOurs,
      known: null,
      addressOwner: owner && { memberId: owner.id, role: owner.role, suspended: false, isLinked: owner.elsewhere },
    });
    if (!admitted.ok && admitted.failure.reason === 'address_taken') return taken('The member with this address is somebody else of a directory or identity provider.');
    if (!admitted.ok) return invalid('invalidValue', 'The domain of the e-mail address is not verified for this identity provider.');
    if (admitted.value.kind !== 'new') return ok({ memberId: admitted.value.memberId, inGroups: false });
    const { name, role } = admitted.value;
    const member = await this.commands.execute(new AdmitVouchedCommand(tx, { name, email, role }, null));
    return member.ok ? ok({ memberId: member.value, inGroups: needsGroup }) : taken('Another member has this address.');
  }
}
