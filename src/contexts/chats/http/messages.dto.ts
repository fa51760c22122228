import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { Allow, IsBoolean, ValidateIf } from 'class-validator';
import { inputLimits, readMessageInput, type FileInvalid, type UserMessage } from '@domain/chats/message-input.js';
import { fail, ok, type Result } from '@domain/result.js';
import { Characters } from '@platform/http/characters.js';
import { invalidInput } from '@platform/http/invalid-input.js';

export const commandKeyLimit = 128;

class InputTextPart {
  @ApiProperty({ enum: ['input_text'] }) type: 'input_text';
  @ApiProperty({ minLength: 1, maxLength: inputLimits.textCharacters }) text: string;
}
class InputFilePart {
  @ApiProperty({ enum: ['input_image', 'input_file'] }) type: 'input_image' | 'input_file';
  @ApiProperty({ description: 'A file that you uploaded.' }) file: string;
}
@ApiExtraModels(InputTextPart, InputFilePart)
class InputMessage {
  @ApiPropertyOptional({ enum: ['message'] }) type?: 'message';
  @ApiProperty({ enum: ['user'] }) role: 'user';
  @ApiProperty({
    oneOf: [
      { type: 'string', minLength: 1, maxLength: inputLimits.textCharacters },
      { type: 'array', minItems: 1, maxItems: inputLimits.parts, items: { oneOf: [{ $ref: getSchemaPath(InputTextPart) }, { $ref: getSchemaPath(InputFilePart) }] } },
    ],
  })
  content: string | (InputTextPart | InputFilePart)[];
}

@ApiExtraModels(InputMessage)
export class SendMessageBody {
  @ApiProperty({
    description: 'Text, or a list of messages. The three ways to write a text mean the same.',
    oneOf: [
      { type: 'string', minLength: 1, maxLength: inputLimits.textCharacters, example: 'Plan three days in Rome.' },
      { type: 'array', minItems: 1, maxItems: inputLimits.messages, items: { $ref: getSchemaPath(InputMessage) } },
    ],
  })
  @Allow()
  input: unknown;

  @ApiProperty({ example: 'trip-1', minLength: 1, maxLength: commandKeyLimit, description: 'Names this command. A new attempt sends the same key and the same content.' })
  @Characters(1, commandKeyLimit)
  commandKey: string;

  @ApiPropertyOptional({ default: false, description: '`true` waits for a new turn instead of steering the running one.' })
  @ValidateIf((body: SendMessageBody) => body.queue !== undefined)
  @IsBoolean()
  queue?: boolean;
}

/** The one form of what was sent. A field that is wrong is named by its path. */
export function messagesOf({ input }: SendMessageBody): Result<readonly UserMessage[], FileInvalid> {
  const read = readMessageInput(input);
  if (read.ok) return ok(read.value);
  if (read.failure._tag === 'FileInvalid') return fail(read.failure);
  throw invalidInput(read.failure.field, read.failure.reason);
}

export class InterruptBody {
  @ApiProperty({ example: 'stop-1', minLength: 1, maxLength: commandKeyLimit })
  @Characters(1, commandKeyLimit)
  commandKey: string;

  @ApiPropertyOptional({ default: false, description: '`true` stops the work that the chat gave away too, with its requests and reminders.' })
  @ValidateIf((body: InterruptBody) => body.delegations !== undefined)
  @IsBoolean()
  delegations?: boolean;
}

class CommandReceiptView {
  @ApiProperty({ example: 'exec_01k0w3j9v7e8t9q0c5m2x4z6b8', description: 'The stored work. Observe it until it ends.' }) executionId: string;
  @ApiProperty({ example: 'trip-1' }) commandKey: string;
  @ApiProperty({ type: 'integer', example: 2, description: 'The number of this command’s event in the log of the execution.' }) sequence: number;
  @ApiProperty({ example: 'chat_01k0w3j9v7e8t9q0c5m2x4z6b8' }) chat: string;
}

export class MessageReceiptView extends CommandReceiptView {
  @ApiProperty({ example: 'turn_01k0w3j9v7e8t9q0c5m2x4z6b8', description: 'The turn that reads the input, also while it still waits.' }) turn: string;
}
export class InterruptReceiptView extends CommandReceiptView {
  @ApiProperty({ type: String, nullable: true, description: 'The turn that was asked to stop; `null`: none was running.' }) turn: string | null;
}
