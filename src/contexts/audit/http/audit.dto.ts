import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ArrayMaxSize, IsIn, IsInt, IsOptional, IsString, Matches, Max, Min, ValidateBy } from 'class-validator';
import { auditActionGroups, auditActionNames } from '@domain/audit/actions.js';
import type { ActorKind, AuditOutcome, Scalar } from '@domain/audit/entry.js';
import { breakReasons, type ChainBreak } from '@domain/audit/verify.js';
import type { AuditEntryView } from '@platform/audit/audit-view.js';
import { defaultLimit, maxLimit, PageOf } from '@platform/http/paging.js';
import { WholeNumber } from '@platform/http/whole-number.js';
import { readPublicId } from '@platform/ids/typeid.js';

export const maxSequence = 999_999_999_999_999;
const latest = 253_402_300_799_999;
const actionWords: readonly string[] = [...auditActionGroups, ...auditActionNames];

const IsAnyPublicId = (kinds: readonly string[] | null): PropertyDecorator =>
  ValidateBy({
    name: 'isAnyPublicId',
    validator: {
      validate: (value: unknown) => {
        const found = typeof value === 'string' ? readPublicId(value) : null;
        return found !== null && (kinds === null || kinds.includes(found.kind));
      },
      defaultMessage: () => `$property must be an id${kinds === null ? '' : ' of a member, a token, a key or a session'}`,
    },
  });

export class AuditQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: maxLimit, default: defaultLimit })
  @WholeNumber()
  @IsInt()
  @Min(1)
  @Max(maxLimit)
  limit: number = defaultLimit;

  @ApiPropertyOptional({ description: 'The `next` of the page before.', maxLength: 15, pattern: '^[0-9]{1,15}$' })
  @IsOptional()
  @IsString()
  @Matches(/^\d{1,15}$/)
  before?: string;

  @ApiPropertyOptional({
    type: String,
    example: 'member,token.created',
    description: 'Only these actions, separated by commas. What stands before a dot stands for all actions that begin with it.',
  })
  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.split(',') : value))
  @ArrayMaxSize(20)
  @IsIn(actionWords, { each: true, message: 'action must be a list of actions, or of what their names begin with' })
  action?: string[];

  @ApiPropertyOptional({ type: String, maxLength: 40, description: 'Only what was done by this member, or with this credential.' })
  @IsOptional()
  @IsAnyPublicId(['member', 'token', 'apiKey', 'session'])
  actor?: string;

  @ApiPropertyOptional({ type: String, maxLength: 40, description: 'Only what was done to the thing with this id, of whatever kind.' })
  @IsOptional()
  @IsAnyPublicId(null)
  target?: string;

  @ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: latest, description: 'Only what happened then or later: milliseconds since the epoch.' })
  @IsOptional()
  @WholeNumber()
  @IsInt()
  @Min(0)
  @Max(latest)
  from?: number;

  @ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: latest, description: 'Only what happened before: milliseconds since the epoch.' })
  @IsOptional()
  @WholeNumber()
  @IsInt()
  @Min(0)
  @Max(latest)
  until?: number;
}

export class ExportAuditQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: maxSequence, default: 0, description: 'The last sequence that you have: the export goes on behind it.' })
  @WholeNumber()
  @IsInt()
  @Min(0)
  @Max(maxSequence)
  afterSequence: number = 0;
}

export class VerifyAuditQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: maxSequence, description: 'How long the chain was once, as an export’s last line says. With `head`.' })
  @IsOptional()
  @WholeNumber()
  @IsInt()
  @Min(0)
  @Max(maxSequence)
  length?: number;

  @ApiPropertyOptional({ type: String, pattern: '^[0-9a-f]{64}$', description: 'Its last hash at that time: the chain has to go through it.' })
  @IsOptional()
  @IsString()
  @Matches(/^[0-9a-f]{64}$/)
  head?: string;
}

export class AuditActorView {
  @ApiProperty({ enum: ['member', 'service', 'operator', 'nobody'] }) kind: ActorKind;
  @ApiProperty({ type: String, nullable: true, example: 'mem_01k0000000e00800000000000g' }) member: string | null;
  @ApiProperty({ type: String, nullable: true, example: 'tok_01k0000000e00800000000000g', description: 'With which token, key or session.' }) credential: string | null;
  @ApiProperty({ type: String, nullable: true, description: 'The member for whom a service acted.' }) onBehalfOf: string | null;
  @ApiProperty({ type: String, nullable: true, description: 'Which service, where no member acted.' }) service: string | null;
}

export class AuditEntryDto implements AuditEntryView {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'Its place in the chain.' }) sequence: number;
  @ApiProperty({ example: 'aud_01k0000000e00800000000000g' }) id: string;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) at: number;
  @ApiProperty({ example: 'member.role_changed' }) action: string;
  @ApiProperty({ enum: ['done', 'refused'] }) outcome: AuditOutcome;
  @ApiProperty({ type: AuditActorView }) actor: AuditActorView;
  @ApiProperty({ type: String, nullable: true, example: 'mem_01k0000000e00800000000000g', description: 'The id of what it was done to.' }) target: string | null;
  @ApiProperty({ type: String, nullable: true, description: 'The project whose chain it is in; null: the organization’s own.' }) project: string | null;
  @ApiProperty({ type: String, nullable: true, example: '192.0.2.7', description: 'The network address that the request came from.' }) address: string | null;
  @ApiProperty({ type: 'object', additionalProperties: true, example: { role: 'admin', before: 'member' } }) detail: Record<string, Scalar>;
  @ApiProperty({ example: '5f1d…', description: 'SHA-256 of the hash before and of this entry.' }) hash: string;
}

export class AuditPage extends PageOf(AuditEntryDto) {}

export class ChainBreakView {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'The first place at which the chain is not what it was.' }) sequence: number;
  @ApiProperty({ enum: breakReasons }) reason: ChainBreak['reason'];
}

export class VerificationView {
  @ApiProperty() ok: boolean;
  @ApiProperty({ type: 'integer', description: 'The length of the chain. Keep it with `head` where nobody who runs the database can change it.' }) length: number;
  @ApiProperty({ example: '5f1d…', description: 'The last hash.' }) head: string;
  @ApiProperty({ type: 'integer', description: 'Entries that were hashed anew.' }) checked: number;
  @ApiProperty({ type: 'integer', description: 'Entries that are stored and get their places within a second.' }) unlinked: number;
  @ApiProperty({ type: ChainBreakView, nullable: true }) firstBroken: ChainBreakView | null;
}
