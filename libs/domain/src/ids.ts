declare const brand: unique symbol;
type Id<Name extends string> = string & { readonly [brand]: Name };

/** Ids are UUIDv7 in the program and in the database; HTTP, events and the model see them as TypeIDs (`chat_01h…`). */
export type OrganizationId = Id<'Organization'>;
export type ProjectId = Id<'Project'>;
export type MemberId = Id<'Member'>;
export type TokenId = Id<'Token'>;
export type ApiKeyId = Id<'ApiKey'>;
export type BotId = Id<'Bot'>;
export type ChatId = Id<'Chat'>;
export type TurnId = Id<'Turn'>;
export type ItemId = Id<'Item'>;
export type InputId = Id<'Input'>;
export type ExecutionId = Id<'Execution'>;
export type ErrorId = Id<'Error'>;

/** The prefix of each public id. The one list that both directions of the codec read. */
export const idPrefixes = {
  organization: 'org',
  project: 'proj',
  member: 'mem',
  token: 'tok',
  apiKey: 'key',
  bot: 'bot',
  chat: 'chat',
  turn: 'turn',
  item: 'item',
  input: 'inp',
  execution: 'exec',
  error: 'err',
  connection: 'conn',
  lease: 'lease',
  audit: 'aud',
  invitation: 'inv',
  session: 'ses',
  purge: 'purge',
  identityProvider: 'idp',
  domain: 'dom',
  linkedIdentity: 'lid',
  scimToken: 'scim',
  directoryUser: 'duser',
  directoryGroup: 'dgroup',
} as const;
export type IdKind = keyof typeof idPrefixes;
