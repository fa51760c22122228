import { ApiProperty } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { toPublicId } from '@platform/ids/typeid.js';
import { csrfHeader, csrfOf } from './forgery.js';
import { keepSession, type BegunSession } from './session-cookie.js';

export class SessionView {
  @ApiProperty({ example: 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8' }) member: string;
  @ApiProperty({ example: 'org_01k0w3j9v7e8t9q0c5m2x4z6b8' }) organization: string;
  @ApiProperty({ type: String, nullable: true, description: `Send it as \`${csrfHeader}\` with every request that changes something. \`null\`: a token needs none.` })
  csrf: string | null;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Milliseconds since the epoch; earlier, if it is not used. `null`: a token without an end.' }) expiresAt:
    number | null;
}

/** Hands a new session to the browser, and to its page what the browser keeps from it. */
export function answerBegun(reply: FastifyReply, { organizationId, memberId, secret, expiresAt }: BegunSession): SessionView {
  keepSession(reply, secret, expiresAt);
  return { member: toPublicId('member', memberId), organization: toPublicId('organization', organizationId), csrf: csrfOf(secret), expiresAt: expiresAt.getTime() };
}
