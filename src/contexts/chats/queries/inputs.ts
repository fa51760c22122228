import type { UserMessage } from '@domain/chats/message-input.js';
import type { OrganizationKey } from '@engine/sealing.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import type { Identity } from '@platform/identity/identity.js';
import type { ChatRow } from './chats.js';

type InputRow = { readonly id: string; readonly number: number; readonly body: Buffer };
/** An input that no step has read, opened. */
export type UnreadInput = { readonly id: string; readonly number: number; readonly messages: readonly UserMessage[] };

const bindingOf = (inputId: string) => ({ table: 'chat_input', record: inputId });

export type NewInputRow = { readonly id: string; readonly turnId: string; readonly queue: boolean; readonly messages: readonly UserMessage[] };

/** Takes the chat's next input number; the chat's row is locked. */
export async function insertInput(tx: Tx, key: OrganizationKey, context: Identity['context'], chat: ChatRow, input: NewInputRow): Promise<void> {
  await tx.query(`insert into chat_input (organization_id, project_id, chat_id, id, number, turn_id, queue, body) values ($1, $2, $3, $4, $5, $6, $7, $8)`, [
    context.organizationId,
    context.projectId,
    chat.id,
    input.id,
    chat.input_count + 1,
    input.turnId,
    input.queue,
    key.seal(bindingOf(input.id), JSON.stringify(input.messages)),
  ]);
  await tx.query(`update chat set input_count = input_count + 1, revision = revision + 1 where id = $1`, [chat.id]);
}

/** In the order in which they came into the inbox. */
export async function readUnreadInputs(tx: ReadTx, key: OrganizationKey, turnId: string): Promise<UnreadInput[]> {
  const rows = await tx.query<InputRow[]>(`select id, number, body from chat_input where turn_id = $1 and taken_at is null order by number`, [turnId]);
  return rows.map(({ id, number, body }) => ({ id, number, messages: JSON.parse(key.open(bindingOf(id), body).toString('utf8')) as UserMessage[] }));
}

export const takeInputs = (tx: Tx, inputs: readonly UnreadInput[], step: number | null): Promise<unknown> =>
  tx.query(`update chat_input set taken_at = clock_timestamp(), taken_step = $2 where id = any ($1::uuid[])`, [inputs.map(({ id }) => id), step]);

export const moveInputs = (tx: Tx, inputs: readonly UnreadInput[], turnId: string): Promise<unknown> =>
  tx.query(`update chat_input set turn_id = $2 where id = any ($1::uuid[])`, [inputs.map(({ id }) => id), turnId]);
