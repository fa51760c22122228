import { Module } from '@nestjs/common';
import { AdmitMemberHandler } from './commands/admit-member.command.js';
import { ChangeMemberHandler } from './commands/change-member.command.js';
import { CreateOrganizationHandler } from './commands/create-organization.command.js';
import { CreateProjectHandler } from './commands/create-project.command.js';
import { CreateServiceAccountHandler } from './commands/create-service-account.command.js';
import { DeleteProjectHandler } from './commands/delete-project.command.js';
import { LockMembersHandler, LockRightsHandler } from './commands/lock-rights.command.js';
import { MirrorKeyHandler } from './commands/mirror-key.command.js';
import { NameMemberHandler } from './commands/name-member.command.js';
import { RemoveMemberHandler } from './commands/remove-member.command.js';
import { RenameOrganizationHandler } from './commands/rename-organization.command.js';
import { RenameProjectHandler } from './commands/rename-project.command.js';
import { SetProjectMembersHandler } from './commands/set-project-members.command.js';
import { SetDirectoryStopHandler } from './commands/set-directory-stop.js';
import { StopWorkHandler } from './commands/stop-work.command.js';
import { AdmitVouchedHandler, SetVouchedRoleHandler } from './commands/vouched-members.js';
import { MembersController } from './http/members.controller.js';
import { OrganizationController } from './http/organization.controller.js';
import { ProjectPurgesController } from './http/project-purges.controller.js';
import { ProjectsController } from './http/projects.controller.js';
import { ServiceAccountsController } from './http/service-accounts.controller.js';
import { FindOrganizationHandler } from './queries/find-organization.handler.js';
import { MayAdmitHandler } from './queries/may-admit.handler.js';
import { FindMemberHandler, FindMembersHandler, FindPersonByEmailHandler, FindServiceAccountHandler, FindStandingsHandler, WasRemovedHandler } from './queries/member.handlers.js';
import { DropProjectHandler } from './sagas/phases/drop-project.js';
import { PurgeRowsHandler } from './sagas/phases/purge-rows.js';
import { RemoveObjectsHandler } from './sagas/phases/remove-objects.js';
import { StopProjectWorkHandler } from './sagas/phases/stop-project-work.js';
import { ProjectPurgeSaga } from './sagas/project-purge.saga.js';

@Module({
  controllers: [OrganizationController, ProjectsController, ProjectPurgesController, MembersController, ServiceAccountsController],
  providers: [
    AdmitMemberHandler,
    AdmitVouchedHandler,
    ChangeMemberHandler,
    CreateOrganizationHandler,
    CreateProjectHandler,
    CreateServiceAccountHandler,
    DeleteProjectHandler,
    FindMemberHandler,
    FindMembersHandler,
    FindOrganizationHandler,
    FindPersonByEmailHandler,
    FindServiceAccountHandler,
    FindStandingsHandler,
    LockMembersHandler,
    LockRightsHandler,
    MayAdmitHandler,
    MirrorKeyHandler,
    NameMemberHandler,
    RemoveMemberHandler,
    RenameOrganizationHandler,
    RenameProjectHandler,
    SetDirectoryStopHandler,
    SetProjectMembersHandler,
    SetVouchedRoleHandler,
    StopWorkHandler,
    WasRemovedHandler,
  ],
})
export class OrganizationsModule {}

/** Needed wherever the engine is: projects are removed there. */
@Module({ providers: [ProjectPurgeSaga, StopProjectWorkHandler, RemoveObjectsHandler, PurgeRowsHandler, DropProjectHandler] })
export class OrganizationsWorkerModule {}
