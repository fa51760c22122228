import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { Characters } from '@platform/http/characters.js';
import { PageOf, PageQuery } from '@platform/http/paging.js';
import { IsPublicId } from '@platform/http/public-id.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { recordOf, type DomainRow } from '../queries/domains.js';

export class ClaimDomainBody {
  @ApiProperty({ example: 'example.com', minLength: 1, maxLength: 253 })
  @Characters(1, 253)
  domain: string;

  @ApiProperty({ example: 'idp_01k0w3j9v7e8t9q0c5m2x4z6b8', description: 'Who speaks for its addresses.' })
  @IsPublicId('identityProvider')
  identityProvider: string;
}

export class DomainRecordView {
  @ApiProperty({ example: '_openbot.example.com' }) name: string;
  @ApiProperty({ example: 'openbot-verification=3q2…' }) value: string;
}

export class DomainView {
  @ApiProperty({ example: 'dom_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ example: 'example.com', description: 'As DNS spells it.' }) domain: string;
  @ApiProperty({ example: 'idp_01k0w3j9v7e8t9q0c5m2x4z6b8' }) identityProvider: string;
  @ApiProperty({ description: 'The TXT record that shows that the domain is yours.' }) record: DomainRecordView;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Milliseconds since the epoch. `null`: it counts for nothing yet.' }) verifiedAt: number | null;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) createdAt: number;
}

export const toDomainView = (row: DomainRow): DomainView => ({
  id: toPublicId('domain', row.id),
  domain: row.domain,
  identityProvider: toPublicId('identityProvider', row.provider_id),
  record: recordOf(row),
  verifiedAt: row.verified_at?.getTime() ?? null,
  createdAt: row.created_at.getTime(),
});

export class DomainPage extends PageOf(DomainView) {}

export class DomainsQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsPublicId('domain')
  after?: string;
}
