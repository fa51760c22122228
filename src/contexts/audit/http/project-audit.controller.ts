import { Controller, Get, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { fail, ok } from '@domain/result.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { CountsAs } from '@platform/limits/route-class.js';
import type { Chain } from '../queries/entries.js';
import { AuditAnswers } from './audit-answers.js';
import { exportDescription, exportExample, verifyDescription } from './audit-documentation.js';
import { AuditPage, AuditQuery, ExportAuditQuery, VerificationView, VerifyAuditQuery } from './audit.dto.js';
import { exportAuditProblems, readProjectAuditProblems, verifyAuditProblems } from './audit.problems.js';

/** The project that the path names, if the caller acts there. */
const chainOf = ({ context }: Identity, projectId: string): Chain =>
  respond(projectId === context.projectId ? ok({ projectId }) : fail({ _tag: 'ProjectNotFound' }), readProjectAuditProblems);

const ProjectId = (): ParameterDecorator => PublicId('projectId', 'project', readProjectAuditProblems, 'ProjectNotFound');

@ApiTags('Audit')
@ApiParam({ name: 'projectId' })
@Controller('v1/projects/:projectId/audit')
export class ProjectAuditController {
  constructor(private readonly answers: AuditAnswers) {}

  @Get()
  @Permit('audit.read')
  @ApiOperation({ operationId: 'listProjectAudit', summary: 'List who did what in a project, the newest first' })
  @ApiOkResponse({ type: AuditPage })
  @ApiProblems(readProjectAuditProblems)
  async list(@CurrentIdentity() identity: Identity, @ProjectId() projectId: string, @Query() query: AuditQuery): Promise<AuditPage> {
    return this.answers.list(identity, chainOf(identity, projectId), query);
  }

  @Get('export')
  @Permit('audit.read')
  @CountsAs('audit')
  @ApiOperation({ operationId: 'exportProjectAudit', summary: 'Export the audit log of a project', description: exportDescription })
  @ApiProduces('application/x-ndjson')
  @ApiOkResponse({ description: 'One entry a line, then the head.', schema: { type: 'string', example: exportExample } })
  @ApiProblems(readProjectAuditProblems, exportAuditProblems)
  async export(@CurrentIdentity() identity: Identity, @ProjectId() projectId: string, @Query() { afterSequence }: ExportAuditQuery, @Res() reply: FastifyReply): Promise<void> {
    await this.answers.export(identity, chainOf(identity, projectId), afterSequence, reply);
  }

  @Get('verify')
  @Permit('audit.read')
  @CountsAs('audit')
  @ApiOperation({ operationId: 'verifyProjectAudit', summary: 'Verify the audit log of a project', description: verifyDescription })
  @ApiOkResponse({ type: VerificationView })
  @ApiProblems(readProjectAuditProblems, verifyAuditProblems)
  async verify(
    @CurrentIdentity() identity: Identity,
    @ProjectId() projectId: string,
    @Query() query: VerifyAuditQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<VerificationView> {
    return this.answers.verify(identity, chainOf(identity, projectId), query, reply);
  }
}
