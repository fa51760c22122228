import { fail, ok, type Result } from '../result.js';

export const connectionKinds = ['openai', 'anthropic', 'openai-compatible'] as const;
export type ConnectionKind = (typeof connectionKinds)[number];
export const connectionApis = ['responses', 'chat'] as const;
/** Which of OpenAI's two interfaces a connection speaks. */
export type ConnectionApi = (typeof connectionApis)[number];

export type ConnectionModel = {
  readonly id: string;
  readonly name: string;
  readonly contextWindow: number | null;
  readonly reasoningEfforts: readonly string[];
};

/** A connection without its secret. `hasKey` is all that anybody learns of the key. */
export type ConnectionSettings = {
  readonly kind: ConnectionKind;
  readonly name: string;
  readonly baseUrl: string | null;
  readonly api: ConnectionApi | null;
  readonly models: readonly ConnectionModel[];
  readonly hasKey: boolean;
};

/** What is wrong with the wanted settings, and in which field of the body. */
export type ModelConnectionInvalid = {
  readonly _tag: 'ModelConnectionInvalid';
  readonly field: string;
  readonly reason: 'needed' | 'not-for-this-kind' | 'duplicate' | 'needed-for-new-address' | 'not-a-url' | 'scheme' | 'credentials' | 'query' | 'address';
};

const invalid = (field: string, reason: ModelConnectionInvalid['reason']) => fail({ _tag: 'ModelConnectionInvalid', field, reason } as const);

const repeated = (values: readonly string[]): number => values.findIndex((value, index) => values.indexOf(value) !== index);

/** The rules of a whole connection, new or changed. Whether its address may be reached is the platform's question. */
export function checkConnection(wanted: ConnectionSettings): Result<ConnectionSettings, ModelConnectionInvalid> {
  if (wanted.kind === 'openai-compatible' && wanted.baseUrl === null) return invalid('baseUrl', 'needed');
  if (wanted.kind !== 'openai-compatible' && !wanted.hasKey) return invalid('apiKey', 'needed');
  if (wanted.kind === 'anthropic' && wanted.api !== null) return invalid('api', 'not-for-this-kind');
  const twice = repeated(wanted.models.map(({ id }) => id));
  if (twice >= 0) return invalid(`models[${twice}].id`, 'duplicate');
  // The SDKs append paths to the address: a query would swallow them.
  if (wanted.baseUrl !== null && /[?#]/.test(wanted.baseUrl)) return invalid('baseUrl', 'query');
  return ok({ ...wanted, api: wanted.kind === 'anthropic' ? null : (wanted.api ?? (wanted.kind === 'openai' ? 'responses' : 'chat')) });
}

/** A stored key goes to the server that it was given for: another address needs the key again, from someone who has it. */
export function checkAddressChange(change: {
  readonly from: string | null;
  readonly to: string | null;
  readonly hasKey: boolean;
  readonly newKey: boolean;
}): Result<void, ModelConnectionInvalid> {
  if (!change.hasKey || change.newKey || originOf(change.from) === originOf(change.to)) return ok(undefined);
  return invalid('apiKey', 'needed-for-new-address');
}

/** `null` is the vendor's own address, which differs from every other. */
function originOf(url: string | null): string | null {
  return url === null ? null : (/^[a-z]+:\/\/[^/]*/i.exec(url)?.[0] ?? url).toLowerCase();
}

export type ModelConnectionNotFound = { readonly _tag: 'ModelConnectionNotFound' };
/** Changed since it was read: `revision` is the current one. */
export type ModelConnectionConflict = { readonly _tag: 'ModelConnectionConflict'; readonly revision: number };
export type ModelConnectionNameTaken = { readonly _tag: 'ModelConnectionNameTaken'; readonly name: string };
