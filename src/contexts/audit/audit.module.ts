import { Module } from '@nestjs/common';
import { AuditLinker } from './audit-linker.js';
import { RecordAuditHandler } from './commands/record-audit.command.js';
import { AuditAnswers } from './http/audit-answers.js';
import { OrganizationAuditController } from './http/organization-audit.controller.js';
import { ProjectAuditController } from './http/project-audit.controller.js';
import { LongReads } from './long-reads.js';

@Module({ controllers: [OrganizationAuditController, ProjectAuditController], providers: [AuditAnswers, LongReads, RecordAuditHandler] })
export class AuditModule {}

/** Needed wherever the engine is: chains are linked on the worker's login. */
@Module({ providers: [AuditLinker] })
export class AuditWorkerModule {}
