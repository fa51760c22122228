import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { PageOf, PageQuery } from '@platform/http/paging.js';
import { IsPublicId } from '@platform/http/public-id.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { SessionRow } from '../queries/sessions.js';

export class OwnSessionView {
  @ApiProperty({ example: 'ses_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ description: 'It is the one of this request.' }) current: boolean;
  @ApiProperty({ type: String, nullable: true, description: 'What the browser said that it is when the session began.' }) userAgent: string | null;
  @ApiProperty({ type: String, nullable: true, example: '192.0.2.7', description: 'Where the session began.' }) address: string | null;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) createdAt: number;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Milliseconds since the epoch, exact to a minute.' }) lastUsedAt: number | null;
  @ApiProperty({ type: 'integer', description: 'It ends then in any case.' }) expiresAt: number;
  @ApiProperty({ type: 'integer', description: 'It ends then if it is not used before.' }) idleUntil: number;
}
export const toOwnSessionView =
  (currentId: string) =>
  (row: SessionRow): OwnSessionView => ({
    id: toPublicId('session', row.id),
    current: row.id === currentId,
    userAgent: row.user_agent,
    address: row.address,
    createdAt: row.created_at.getTime(),
    lastUsedAt: row.last_used_at?.getTime() ?? null,
    expiresAt: row.expires_at.getTime(),
    idleUntil: row.idle_until.getTime(),
  });
export class OwnSessionPage extends PageOf(OwnSessionView) {}

export class SessionsQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsPublicId('session')
  after?: string;
}

export class SignedOutView {
  @ApiProperty({ type: String, nullable: true, description: 'Where to send the browser to sign out at the identity provider as well. `null`: nowhere.' })
  providerLogout: string | null;
}
