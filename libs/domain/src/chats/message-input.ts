import { fail, ok, type Result } from '../result.js';
import type { InputText, MessageContent } from './items.js';
import { isStorable } from './storable-text.js';

export type UserMessage = Extract<MessageContent, { readonly role: 'user' }>;

export const inputLimits = { messages: 50, parts: 50, textCharacters: 100_000 } as const;

/** `field` names the first thing that is wrong, as in `input[1].content[0].text`. */
export type MessageInputInvalid = { readonly _tag: 'MessageInputInvalid'; readonly field: string; readonly reason: string };
/** A part names no file that the caller may use. */
export type FileInvalid = { readonly _tag: 'FileInvalid' };
type Failure = MessageInputInvalid | FileInvalid;

const invalid = (field: string, reason: string) => fail<Failure>({ _tag: 'MessageInputInvalid', field, reason });

type Fields = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
/** Path of the first member that is not known. A name is echoed in part only: it may be as long as the whole body. */
function unknownField(value: Fields, field: string, known: readonly string[]): string | null {
  const name = Object.keys(value).find((key) => !known.includes(key));
  if (name === undefined) return null;
  return /^\w+$/.test(name) ? `${field}.${name.slice(0, 64)}` : `${field}[${JSON.stringify(name.slice(0, 64))}]`;
}

function readText(value: unknown, field: string): Result<InputText, Failure> {
  if (typeof value !== 'string') return invalid(field, 'must be a string');
  if (value === '') return invalid(field, 'must not be empty');
  if (value.length > inputLimits.textCharacters) return invalid(field, `must be at most ${inputLimits.textCharacters} characters long`);
  if (!isStorable(value)) return invalid(field, 'contains a character that cannot be stored');
  return ok({ type: 'input_text', text: value });
}

function readPart(value: unknown, field: string): Result<InputText, Failure> {
  if (!isObject(value)) return invalid(field, 'must be an object');
  if (value.type === 'input_image' || value.type === 'input_file') return fail({ _tag: 'FileInvalid' });
  if (value.type !== 'input_text') return invalid(`${field}.type`, 'must be input_text, input_image or input_file');
  const unknown = unknownField(value, field, ['type', 'text']);
  if (unknown !== null) return invalid(unknown, 'is not a known field');
  return readText(value.text, `${field}.text`);
}

/** Reads each entry of a list of limited length; the first that is wrong is the answer. */
function readList<T>(values: readonly unknown[], field: string, max: number, readEntry: (value: unknown, field: string) => Result<T, Failure>): Result<readonly T[], Failure> {
  if (values.length === 0) return invalid(field, 'must not be empty');
  if (values.length > max) return invalid(field, `must have at most ${max} entries`);
  const entries: T[] = [];
  for (const [index, value] of values.entries()) {
    const entry = readEntry(value, `${field}[${index}]`);
    if (!entry.ok) return entry;
    entries.push(entry.value);
  }
  return ok(entries);
}

function readMessage(value: unknown, field: string): Result<UserMessage, Failure> {
  if (!isObject(value)) return invalid(field, 'must be an object');
  const unknown = unknownField(value, field, ['type', 'role', 'content']);
  if (unknown !== null) return invalid(unknown, 'is not a known field');
  if (value.type !== undefined && value.type !== 'message') return invalid(`${field}.type`, 'must be message');
  if (value.role !== 'user') return invalid(`${field}.role`, 'must be user');
  const content = Array.isArray(value.content) ? readList(value.content, `${field}.content`, inputLimits.parts, readPart) : asList(readText(value.content, `${field}.content`));
  return content.ok ? ok({ type: 'message', role: 'user', content: content.value }) : content;
}

const asList = <T>(read: Result<T, Failure>): Result<readonly T[], Failure> => (read.ok ? ok([read.value]) : read);

/**
 * Reads what a person sends, in any of its three forms, into the one form that is stored and compared: equal messages are equal values.
 */
export function readMessageInput(value: unknown, field = 'input'): Result<readonly UserMessage[], Failure> {
  if (Array.isArray(value)) return readList(value, field, inputLimits.messages, readMessage);
  if (typeof value !== 'string') return invalid(field, 'must be text or a list of messages');
  const text = readText(value, field);
  return text.ok ? ok([{ type: 'message', role: 'user', content: [text.value] }]) : text;
}
