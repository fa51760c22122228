import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '@platform/config/config.js';
import { EgressModule } from '@platform/egress/egress.module.js';
import { ChangeConnectionHandler } from './commands/change-connection.command.js';
import { CreateConnectionHandler } from './commands/create-connection.command.js';
import { DeleteConnectionHandler } from './commands/delete-connection.command.js';
import { ConnectionsController } from './http/connections.controller.js';
import { ModelsController } from './http/models.controller.js';
import { modelsDatabaseProvider } from './models-database.js';
import { BuiltInModels } from './providers/built-in-models.js';
import { DefaultModelHandler, ListModelsHandler } from './queries/catalog.handlers.js';
import { ResolveModelHandler } from './queries/resolve-model.handler.js';

@Module({
  imports: [EgressModule],
  controllers: [ConnectionsController, ModelsController],
  providers: [
    { provide: BuiltInModels, inject: [Config], useFactory: (config: Config) => new BuiltInModels(config) },
    modelsDatabaseProvider,
    ChangeConnectionHandler,
    CreateConnectionHandler,
    DeleteConnectionHandler,
    DefaultModelHandler,
    ListModelsHandler,
    ResolveModelHandler,
  ],
})
export class ModelsModule implements OnApplicationShutdown {
  constructor(@Inject(BuiltInModels) private readonly builtIn: BuiltInModels) {}

  onApplicationShutdown(): Promise<void> {
    return this.builtIn.close();
  }
}
