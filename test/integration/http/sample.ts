import { Body, Controller, Get, HttpCode, Post, Query, Req, Res } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsBoolean, IsIn, IsInt, IsOptional, IsString, Length, Max, Min, ValidateNested } from 'class-validator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { rightsOf } from '@domain/access/rights.js';
import { Authenticator } from '@platform/identity/authenticator.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { PageOf, PageQuery } from '@platform/http/paging.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { IsPublicId, PublicId } from '@platform/http/public-id.js';
import { openEventStream, type EventStream } from '@platform/http/sse.js';

export const identity: Identity = {
  context: { organizationId: '01930000-0000-7000-8000-000000000001', projectId: '01930000-0000-7000-8000-000000000002' },
  memberId: '01930000-0000-7000-8000-000000000003',
  tokenId: '01930000-0000-7000-8000-000000000004',
  credential: 'user_token',
  role: 'owner',
  permissions: rightsOf({ role: 'owner', projectRole: null }),
};

/** Knows one token. `broken` stands for a sign-in whose database is away. */
export class OneToken extends Authenticator {
  override async authenticate(bearer: string): Promise<Identity | null> {
    if (bearer === 'broken') throw Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:5432'), { code: 'ECONNREFUSED' });
    return Promise.resolve(bearer === 'good' ? identity : null);
  }
}

export class SamplePart {
  @ApiProperty({ enum: ['text'] }) @IsIn(['text']) type: 'text';
  @ApiProperty({ maxLength: 20 }) @IsString() @Length(1, 20) content: string;
}

export class SampleBody {
  @ApiProperty({ type: [SamplePart] }) @IsArray() @ArrayMaxSize(3) @ValidateNested({ each: true }) @Type(() => SamplePart) input: SamplePart[];
  @ApiProperty({ maxLength: 128 }) @IsString() @Length(1, 128) commandKey: string;
  @ApiProperty({ required: false }) @IsOptional() @IsBoolean() queue?: boolean;
  @ApiProperty({ required: false }) @IsOptional() @IsInt() @Min(0) @Max(1_000) steps?: number;
  @ApiProperty({ required: false }) @IsOptional() @IsPublicId('bot') bot?: string;
}

class SampleView {
  @ApiProperty() id: string;
}
class SamplePage extends PageOf(SampleView) {}

const sampleProblems = {
  ChatNotFound: { status: 404, message: 'You have no chat with this ID.' },
  ChatConflict: { status: 409, message: 'This kind of chat takes no messages from people.' },
  ChatFull: { status: 400, message: 'The chat is full.' },
};

/** What reached a handler, and the streams that tests hold. */
export const reached: SampleBody[] = [];
export const streams: { readonly stream: EventStream; readonly reply: FastifyReply }[] = [];
export const faults: Record<string, unknown> = {};

@ApiTags('Chats')
@Controller('v1/samples')
export class SampleController {
  @Get()
  @Permit('chats.read')
  @ApiOperation({ operationId: 'listSamples', summary: 'List samples' })
  @ApiOkResponse({ type: SamplePage })
  list(@Query() query: PageQuery): object {
    return { items: [], next: null, query };
  }

  @Get('fault')
  @Permit('chats.read')
  @ApiOperation({ operationId: 'failSample', summary: 'Fail' })
  @ApiOkResponse({ type: SampleView })
  fault(@Query('name') name: string): never {
    throw faults[name];
  }

  @Get('stream')
  @Permit('chats.read')
  @ApiOperation({ operationId: 'streamSamples', summary: 'Stream' })
  @ApiOkResponse({ description: 'A stream' })
  stream(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    streams.push({ stream: openEventStream(request, reply), reply });
  }

  @Get('undeclared')
  undeclared(): void {}

  @Get(':chatId')
  @Permit('chats.read')
  @ApiOperation({ operationId: 'readSample', summary: 'Read' })
  @ApiOkResponse({ type: SampleView })
  @ApiProblems(sampleProblems)
  read(@PublicId('chatId', 'chat', sampleProblems, 'ChatNotFound') chatId: string, @CurrentIdentity() who: Identity): object {
    if (chatId.endsWith('1')) return { id: chatId, member: who.memberId };
    return respond({ ok: false, failure: { _tag: 'ChatNotFound' } }, sampleProblems);
  }

  @Post()
  @HttpCode(202)
  @Permit('chats.write')
  @ApiOperation({ operationId: 'createSample', summary: 'Create' })
  @ApiAcceptedResponse({ type: SampleView })
  create(@Body() body: SampleBody): object {
    reached.push(body);
    return { id: body.commandKey };
  }

  @Post('plain')
  @HttpCode(202)
  @Permit('public')
  @ApiOperation({ operationId: 'touchSample', summary: 'Touch' })
  @ApiAcceptedResponse({ type: SampleView })
  touch(): object {
    return { id: 'touched' };
  }
}
