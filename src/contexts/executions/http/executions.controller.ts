import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { parseCallId, toCallId } from '@domain/executions/call.js';
import { fail, ok } from '@domain/result.js';
import { read } from '@platform/database/transact.js';
import { invalidInput } from '@platform/http/invalid-input.js';
import { pageOf } from '@platform/http/paging.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { PublicId } from '@platform/http/public-id.js';
import { keyed } from '@platform/identity/command-key.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { CancelExecutionCommand } from '../commands/cancel-execution.command.js';
import { DecideCallCommand, type Decision } from '../commands/decide-call.command.js';
import { listCalls } from '../queries/calls.js';
import { findVisibleExecution } from '../queries/visible-execution.js';
import { toCallReference } from './call-input.js';
import { toCallView, toExecutionView, toReceiptView } from './execution.view.js';
import { CallPage, CallsQuery, CancelExecutionBody, DecideCallBody, ExecutionReceiptView, ExecutionView } from './executions.dto.js';
import { cancelExecutionProblems, decideCallProblems, readExecutionProblems } from './executions.problems.js';

const notFound = fail({ _tag: 'ExecutionNotFound' as const });

@ApiTags('Executions')
@Controller('v1/executions/:executionId')
export class ExecutionsController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly sealer: Sealer,
  ) {}

  @Get()
  @Permit('executions.read')
  @ApiOperation({ operationId: 'readExecution', summary: 'Read the state of your work' })
  @ApiParam({ name: 'executionId' })
  @ApiOkResponse({ type: ExecutionView })
  @ApiProblems(readExecutionProblems)
  async readExecution(
    @CurrentIdentity() identity: Identity,
    @PublicId('executionId', 'execution', readExecutionProblems, 'ExecutionNotFound') executionId: string,
  ): Promise<ExecutionView> {
    const found = await read(this.db, identity.context, (tx) => findVisibleExecution(tx, identity, executionId));
    return toExecutionView(respond(found ? ok(found) : notFound, readExecutionProblems));
  }

  @Get('calls')
  @Permit('executions.read')
  @ApiOperation({
    operationId: 'listExecutionCalls',
    summary: 'List the outside calls of your work',
    description: 'Model calls and tool calls, each attempt of its own. Without their contents.',
  })
  @ApiParam({ name: 'executionId' })
  @ApiOkResponse({ type: CallPage })
  @ApiProblems(readExecutionProblems)
  async listCalls(
    @CurrentIdentity() identity: Identity,
    @PublicId('executionId', 'execution', readExecutionProblems, 'ExecutionNotFound') executionId: string,
    @Query() query: CallsQuery,
  ): Promise<CallPage> {
    const after = query.after === undefined ? null : parseCallId(query.after);
    if (query.after !== undefined && after === null) throw invalidInput('after', 'must be the id of a call');
    const rows = await read(this.db, identity.context, async (tx) => {
      const found = await findVisibleExecution(tx, identity, executionId);
      const filter = { step: query.step ?? null, name: query.name ?? null, latest: query.latest ?? false };
      return found && listCalls(tx, found.id, filter, { after, limit: query.limit + 1 });
    });
    return pageOf(respond(rows ? ok(rows) : notFound, readExecutionProblems), query.limit, toCallView, toCallId);
  }

  @Post('cancel')
  @HttpCode(202)
  @Permit('executions.cancel')
  @ApiOperation({
    operationId: 'cancelExecution',
    summary: 'Ask your work to stop',
    description: 'Nothing is sent outside any more. It ends once everything that it holds is closed; what has ended stays as it is.',
  })
  @ApiParam({ name: 'executionId' })
  @ApiAcceptedResponse({ type: ExecutionReceiptView })
  @ApiProblems(cancelExecutionProblems)
  async cancelExecution(
    @CurrentIdentity() identity: Identity,
    @PublicId('executionId', 'execution', cancelExecutionProblems, 'ExecutionNotFound') executionId: string,
    @Body() { commandKey }: CancelExecutionBody,
  ): Promise<ExecutionReceiptView> {
    const command = await keyed(this.sealer, identity, commandKey, { command: 'cancelExecution', execution: executionId });
    return toReceiptView(respond(await this.commands.execute(new CancelExecutionCommand(identity, command, executionId)), cancelExecutionProblems), commandKey);
  }

  @Post('decisions')
  @HttpCode(202)
  @Permit('executions.decide')
  @ApiOperation({
    operationId: 'decideExecutionCall',
    summary: 'Settle a call whose result was lost',
    description: 'Work in `outcome_unknown` goes on once each of its unknown calls is decided. The first decision stands.',
  })
  @ApiParam({ name: 'executionId' })
  @ApiAcceptedResponse({ type: ExecutionReceiptView })
  @ApiProblems(decideCallProblems)
  async decideCall(
    @CurrentIdentity() identity: Identity,
    @PublicId('executionId', 'execution', decideCallProblems, 'ExecutionNotFound') executionId: string,
    @Body() body: DecideCallBody,
  ): Promise<ExecutionReceiptView> {
    const call = toCallReference(body.call);
    if (!call) throw invalidInput('call', 'must name a call');
    const decision: Decision = body.decision === 'result' ? { decision: body.decision, result: body.result } : { decision: body.decision };
    const command = await keyed(this.sealer, identity, body.commandKey, { command: 'decideCall', execution: executionId, call, ...decision });
    return toReceiptView(respond(await this.commands.execute(new DecideCallCommand(identity, command, executionId, call, decision)), decideCallProblems), body.commandKey);
  }
}
