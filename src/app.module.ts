import { Module, type DynamicModule } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { AccountsModule } from '@contexts/accounts/accounts.module.js';
import { AuditModule, AuditWorkerModule } from '@contexts/audit/audit.module.js';
import { BotsModule } from '@contexts/bots/bots.module.js';
import { ChatsModule, ChatsWorkerModule } from '@contexts/chats/chats.module.js';
import { ExecutionsModule } from '@contexts/executions/executions.module.js';
import { FeedModule } from '@contexts/feed/feed.module.js';
import { IdentityProvidersModule, IdentityProvidersWorkerModule } from '@contexts/identity-providers/identity-providers.module.js';
import { InvitationsModule } from '@contexts/invitations/invitations.module.js';
import { MaintenanceWorkerModule } from '@contexts/maintenance/maintenance.module.js';
import { ModelsModule } from '@contexts/models/models.module.js';
import { OrganizationsModule, OrganizationsWorkerModule } from '@contexts/organizations/organizations.module.js';
import { ProvisioningModule } from '@contexts/provisioning/provisioning.module.js';
import { SignInModule } from '@contexts/sign-in/sign-in.module.js';
import { ConfigModule } from '@platform/config/config.module.js';
import { DatabaseModule } from '@platform/database/database.module.js';
import type { PreparedConfig } from '@platform/database/prepared-config.js';
import { EgressModule } from '@platform/egress/egress.module.js';
import { EngineModule } from '@platform/engine/engine.module.js';
import { HttpModule } from '@platform/http/http.module.js';
import { IdentityModule } from '@platform/identity/identity.module.js';
import { LoggingModule } from '@platform/observability/logging.module.js';
import { ObjectsModule } from '@platform/objects/objects.module.js';
import { ObservabilityModule } from '@platform/observability/observability.module.js';
import { PrivateModule } from '@platform/private/private.module.js';
import { SecretsModule } from '@platform/secrets/secrets.module.js';
import { WakeModule } from '@platform/wake/wake.module.js';

/** Joins the platform and the contexts. */
@Module({})
export class AppModule {
  static register(config: PreparedConfig): DynamicModule {
    const platform = [
      ConfigModule.register(config),
      LoggingModule,
      DatabaseModule.register(config),
      CqrsModule.forRoot(),
      SecretsModule,
      WakeModule.register(config),
      ObservabilityModule,
      EgressModule,
      ObjectsModule,
      IdentityModule,
      HttpModule,
      PrivateModule,
    ];
    return {
      module: AppModule,
      imports: [
        ...platform,
        OrganizationsModule,
        SignInModule,
        AccountsModule,
        InvitationsModule,
        IdentityProvidersModule,
        ProvisioningModule,
        ModelsModule,
        BotsModule,
        ExecutionsModule,
        ChatsModule,
        FeedModule,
        AuditModule,
        ...(config.roles.worker ? [EngineModule, AuditWorkerModule, ChatsWorkerModule, IdentityProvidersWorkerModule, OrganizationsWorkerModule, MaintenanceWorkerModule] : []),
      ],
    };
  }
}
