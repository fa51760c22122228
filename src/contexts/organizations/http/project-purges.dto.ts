import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { PageOf, PageQuery } from '@platform/http/paging.js';
import { IsPublicId } from '@platform/http/public-id.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { failedObjectsLimit, purgeStates, type ProjectPurge, type PurgeState } from '../queries/project-purges.js';

export class ProjectPurgeView {
  @ApiProperty({ example: 'purge_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty({ example: 'proj_01k0w3j9v7e8t9q0c5m2x4z6b8' }) project: string;
  @ApiProperty({ description: 'The name of the project when it was deleted.' }) name: string;
  @ApiProperty({ example: 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8' }) requestedBy: string;
  @ApiProperty({ enum: purgeStates, description: '`completed`: nothing is left. `leftovers`: no row is, but objects that could not be removed; they are tried again.' })
  state: PurgeState;
  @ApiProperty({ type: 'object', additionalProperties: { type: 'integer' }, description: 'How many rows were removed, by table.' }) rows: Record<string, number>;
  @ApiProperty({ type: 'integer' }) objectsRemoved: number;
  @ApiProperty({ type: 'integer', description: 'Objects that could not be removed on the latest walk over all of them.' }) objectsFailed: number;
  @ApiProperty({ type: [String], maxItems: failedObjectsLimit, description: 'The keys of some of these.' }) failedObjects: string[];
  @ApiProperty({ type: 'integer', description: 'Outside calls whose outcome was unknown and was given up.' }) callsSettled: number;
  @ApiProperty({ type: 'integer', description: 'Things outside of which nobody had confirmed that they are closed.' }) leasesLeft: number;
  @ApiProperty({ type: 'integer', nullable: true, description: 'How many entries the audit log of the project had; the organization’s says it too.' }) auditLength: number | null;
  @ApiProperty({ type: String, nullable: true, description: 'The hash of the last of them, in hexadecimal digits.' }) auditHash: string | null;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) requestedAt: number;
  @ApiProperty({ type: 'integer', description: 'Its latest step, in milliseconds since the epoch.' }) movedAt: number;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Milliseconds since the epoch.' }) completedAt: number | null;
}
export class ProjectPurgePage extends PageOf(ProjectPurgeView) {}

export const toProjectPurgeView = ({ id, requestedBy, requestedAt, movedAt, completedAt, ...purge }: ProjectPurge): ProjectPurgeView => ({
  id: toPublicId('purge', id),
  project: toPublicId('project', id),
  name: purge.name,
  requestedBy: toPublicId('member', requestedBy),
  state: purge.state,
  rows: purge.rows,
  objectsRemoved: purge.objectsRemoved,
  objectsFailed: purge.objectsFailed,
  failedObjects: [...purge.failedObjects],
  callsSettled: purge.callsSettled,
  leasesLeft: purge.leasesLeft,
  auditLength: purge.auditLength,
  auditHash: purge.auditHash?.toString('hex') ?? null,
  requestedAt: requestedAt.getTime(),
  movedAt: movedAt.getTime(),
  completedAt: completedAt?.getTime() ?? null,
});

export class ProjectPurgesQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsPublicId('purge')
  after?: string;
}
