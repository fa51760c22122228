import { Global, Module } from '@nestjs/common';
import { DirectoryAuthenticator } from '@platform/identity/directory.js';
import { ChangeGroupHandler } from './commands/change-group.command.js';
import { ChangeUserHandler } from './commands/change-user.command.js';
import { CreateGroupHandler } from './commands/create-group.command.js';
import { CreateScimTokenHandler } from './commands/create-scim-token.command.js';
import { CreateUserHandler } from './commands/create-user.command.js';
import { DeleteGroupHandler } from './commands/delete-group.command.js';
import { DeleteScimTokenHandler } from './commands/delete-scim-token.command.js';
import { DeleteUserHandler } from './commands/delete-user.command.js';
import { DirectoryTokens } from './directory-tokens.js';
import { ScimDiscoveryController } from './http/discovery.controller.js';
import { DirectoryGroupsController } from './http/groups.controller.js';
import { ScimTokensController } from './http/scim-tokens.controller.js';
import { DirectoryUsersController } from './http/users.controller.js';
import { DirectoryGroupsHandler } from './queries/directory-groups.handler.js';

/** Global for the one thing that it gives the platform: the authenticator of directories. */
@Global()
@Module({
  controllers: [DirectoryUsersController, DirectoryGroupsController, ScimDiscoveryController, ScimTokensController],
  providers: [
    ChangeGroupHandler,
    ChangeUserHandler,
    CreateGroupHandler,
    CreateScimTokenHandler,
    CreateUserHandler,
    DeleteGroupHandler,
    DeleteScimTokenHandler,
    DeleteUserHandler,
    DirectoryGroupsHandler,
    { provide: DirectoryAuthenticator, useClass: DirectoryTokens },
  ],
  exports: [DirectoryAuthenticator],
})
export class ProvisioningModule {}
