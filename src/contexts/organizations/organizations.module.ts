import { Module } from '@nestjs/common';
import { CreateMemberHandler } from './commands/create-member.command.js';
import { CreateOrganizationHandler } from './commands/create-organization.command.js';
import { MembersController } from './http/members.controller.js';
import { OrganizationController } from './http/organization.controller.js';
import { FindMembersHandler } from './queries/member.handlers.js';

@Module({
  controllers: [OrganizationController, MembersController],
  providers: [CreateMemberHandler, CreateOrganizationHandler, FindMembersHandler],
})
export class OrganizationsModule {}
