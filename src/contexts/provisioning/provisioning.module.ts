import { Global, Module } from '@nestjs/common';
import { DirectoryAuthenticator } from '@platform/identity/directory.js';
import { ChangeUserHandler } from './commands/change-user.command.js';
import { CreateScimTokenHandler } from './commands/create-scim-token.command.js';
import { CreateUserHandler } from './commands/create-user.command.js';
import { DeleteScimTokenHandler } from './commands/delete-scim-token.command.js';
import { DeleteUserHandler } from './commands/delete-user.command.js';
import { DirectoryTokens } from './directory-tokens.js';
import { ScimDiscoveryController } from './http/discovery.controller.js';
import { ScimTokensController } from './http/scim-tokens.controller.js';
import { DirectoryUsersController } from './http/users.controller.js';

/** Global for the one thing that it gives the platform: the authenticator of directories. */
@Global()
@Module({
  controllers: [DirectoryUsersController, ScimDiscoveryController, ScimTokensController],
  providers: [
    ChangeUserHandler,
    CreateScimTokenHandler,
    CreateUserHandler,
    DeleteScimTokenHandler,
    DeleteUserHandler,
    { provide: DirectoryAuthenticator, useClass: DirectoryTokens },
  ],
  exports: [DirectoryAuthenticator],
})
export class ProvisioningModule {}
