import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiAcceptedResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { CountsAs } from '@platform/limits/route-class.js';
import { SendBotMessageCommand } from '../commands/send-bot-message.command.js';
import { sendBotMessageProblems } from './chats.problems.js';
import { MessageReceiptView, messagesOf, SendMessageBody } from './messages.dto.js';

@ApiTags('Chats')
@Controller('v1/bots')
export class BotMessagesController {
  constructor(private readonly commands: CommandBus) {}

  @Post(':botId/messages')
  @HttpCode(202)
  @Permit('bots.delegate')
  @CountsAs('message')
  @ApiOperation({
    operationId: 'sendBotMessage',
    summary: 'Send a message to a bot',
    description:
      'The message goes to your direct chat with this bot; the first one makes the chat. The answer does not wait for the bot: observe the execution, then read the turn.',
  })
  @ApiParam({ name: 'botId' })
  @ApiAcceptedResponse({ type: MessageReceiptView })
  @ApiProblems(sendBotMessageProblems)
  async sendBotMessage(
    @CurrentIdentity() identity: Identity,
    @PublicId('botId', 'bot', sendBotMessageProblems, 'BotNotFound') botId: string,
    @Body() body: SendMessageBody,
  ): Promise<MessageReceiptView> {
    const messages = respond(messagesOf(body), sendBotMessageProblems);
    const command = new SendBotMessageCommand(identity, body.commandKey, botId, { messages, queue: body.queue ?? false });
    return respond(await this.commands.execute(command), sendBotMessageProblems);
  }
}
