import { Controller, Get, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { ApiProblems } from '@platform/http/problem.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { CountsAs } from '@platform/limits/route-class.js';
import { AuditAnswers } from './audit-answers.js';
import { AuditPage, AuditQuery, ExportAuditQuery, VerificationView, VerifyAuditQuery } from './audit.dto.js';
import { exportAuditProblems, verifyAuditProblems } from './audit.problems.js';
import { exportDescription, exportExample, verifyDescription } from './audit-documentation.js';

const chain = { projectId: null };

@ApiTags('Audit')
@Controller('v1/organization/audit')
export class OrganizationAuditController {
  constructor(private readonly answers: AuditAnswers) {}

  @Get()
  @Permit('organization.audit')
  @ApiOperation({
    operationId: 'listOrganizationAudit',
    summary: 'List who did what in the organization, the newest first',
    description: 'What is about one project is in that project’s log.',
  })
  @ApiOkResponse({ type: AuditPage })
  @ApiProblems()
  list(@CurrentIdentity() identity: Identity, @Query() query: AuditQuery): Promise<AuditPage> {
    return this.answers.list(identity, chain, query);
  }

  @Get('export')
  @Permit('organization.audit')
  @CountsAs('audit')
  @ApiOperation({ operationId: 'exportOrganizationAudit', summary: 'Export the audit log of the organization', description: exportDescription })
  @ApiProduces('application/x-ndjson')
  @ApiOkResponse({ description: 'One entry a line, then the head.', schema: { type: 'string', example: exportExample } })
  @ApiProblems(exportAuditProblems)
  export(@CurrentIdentity() identity: Identity, @Query() { afterSequence }: ExportAuditQuery, @Res() reply: FastifyReply): Promise<void> {
    return this.answers.export(identity, chain, afterSequence, reply);
  }

  @Get('verify')
  @Permit('organization.audit')
  @CountsAs('audit')
  @ApiOperation({ operationId: 'verifyOrganizationAudit', summary: 'Verify the audit log of the organization', description: verifyDescription })
  @ApiOkResponse({ type: VerificationView })
  @ApiProblems(verifyAuditProblems)
  verify(@CurrentIdentity() identity: Identity, @Query() query: VerifyAuditQuery, @Res({ passthrough: true }) reply: FastifyReply): Promise<VerificationView> {
    return this.answers.verify(identity, chain, query, reply);
  }
}
