import type { MigrationInterface } from 'typeorm';
import { Tenancy1764500000000 } from '@migrations/1764500000000-tenancy.js';
import { EngineTables1764500000010 } from '@migrations/1764500000010-engine-tables.js';
import { EngineClocks1764500000015 } from '@migrations/1764500000015-engine-clocks.js';
import { EngineOwnership1764500000020 } from '@migrations/1764500000020-engine-ownership.js';
import { EngineSignals1764500000030 } from '@migrations/1764500000030-engine-signals.js';
import { EngineCommits1764500000040 } from '@migrations/1764500000040-engine-commits.js';
import { ExecutionAccess1764500000050 } from '@migrations/1764500000050-execution-access.js';
import { EngineAdmission1764500000060 } from '@migrations/1764500000060-engine-admission.js';
import { EngineServices1764500000065 } from '@migrations/1764500000065-engine-services.js';
import { EngineChildren1764500000070 } from '@migrations/1764500000070-engine-children.js';
import { EngineCalls1764500000080 } from '@migrations/1764500000080-engine-calls.js';
import { EngineLimits1764500000081 } from '@migrations/1764500000081-engine-limits.js';
import { ResourceLeases1764500000090 } from '@migrations/1764500000090-resource-leases.js';
import { EngineSweep1764500000095 } from '@migrations/1764500000095-engine-sweep.js';
import { Failover1764500000096 } from '@migrations/1764500000096-failover.js';
import { Doctor1764500000097 } from '@migrations/1764500000097-doctor.js';
import { Organizations1764500000100 } from '@migrations/1764500000100-organizations.js';
import { Secrets1764500000200 } from '@migrations/1764500000200-secrets.js';
import { MasterKeyCheck1764500000210 } from '@migrations/1764500000210-master-key-check.js';
import { ErrorSearch1764500000220 } from '@migrations/1764500000220-error-search.js';
import { Models1764500000300 } from '@migrations/1764500000300-models.js';
import { Bots1764500000400 } from '@migrations/1764500000400-bots.js';
import { Chats1764500000500 } from '@migrations/1764500000500-chats.js';
import { Feed1764500000600 } from '@migrations/1764500000600-feed.js';
import { Audit1764500000700 } from '@migrations/1764500000700-audit.js';
import { AuditedWork1764500000705 } from '@migrations/1764500000705-audited-work.js';
import { AuditDoctor1764500000706 } from '@migrations/1764500000706-audit-doctor.js';
import { Accounts1764500000710 } from '@migrations/1764500000710-accounts.js';
import { Invitations1764500000711 } from '@migrations/1764500000711-invitations.js';
import { ProjectPurges1764500000730 } from '@migrations/1764500000730-project-purges.js';
import { PurgedRows1764500000731 } from '@migrations/1764500000731-purged-rows.js';
import { ClosedChains1764500000732 } from '@migrations/1764500000732-closed-chains.js';
import { RateLimits1764500000740 } from '@migrations/1764500000740-rate-limits.js';
import { WorkByCredential1764500000742 } from '@migrations/1764500000742-work-by-credential.js';
import { MadeWith1764500000755 } from '@migrations/1764500000755-made-with.js';
import { IdentityProviders1764500000800 } from '@migrations/1764500000800-identity-providers.js';
import { Provisioning1764500000810 } from '@migrations/1764500000810-provisioning.js';

/** Every migration, in the order of its timestamp. A list and not a folder, so that a build holds what it was tested with. */
export const migrations: readonly (new () => MigrationInterface)[] = [
  Tenancy1764500000000,
  EngineTables1764500000010,
  EngineClocks1764500000015,
  EngineOwnership1764500000020,
  EngineSignals1764500000030,
  EngineCommits1764500000040,
  ExecutionAccess1764500000050,
  EngineAdmission1764500000060,
  EngineServices1764500000065,
  EngineChildren1764500000070,
  EngineCalls1764500000080,
  EngineLimits1764500000081,
  ResourceLeases1764500000090,
  EngineSweep1764500000095,
  Failover1764500000096,
  Doctor1764500000097,
  Organizations1764500000100,
  Secrets1764500000200,
  MasterKeyCheck1764500000210,
  ErrorSearch1764500000220,
  Models1764500000300,
  Bots1764500000400,
  Chats1764500000500,
  Feed1764500000600,
  Audit1764500000700,
  AuditedWork1764500000705,
  AuditDoctor1764500000706,
  Accounts1764500000710,
  Invitations1764500000711,
  ProjectPurges1764500000730,
  PurgedRows1764500000731,
  ClosedChains1764500000732,
  RateLimits1764500000740,
  WorkByCredential1764500000742,
  MadeWith1764500000755,
  IdentityProviders1764500000800,
  Provisioning1764500000810,
];
