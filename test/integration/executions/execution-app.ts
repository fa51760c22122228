import { rightsOf } from '@domain/access/rights.js';
import type { OrganizationRole } from '@domain/access/roles.js';
import { EventHub } from '@engine/reading/event-hub.js';
import type { Environment } from '@platform/config/env.js';
import type { Identity } from '@platform/identity/identity.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import type { TestDatabase } from '@test/support/database.js';
import { StoredWork } from './stored-work.js';

/** The API alone: what these tests store is advanced by nobody. */
export async function startExecutionApp(database: TestDatabase, env: Environment = {}): Promise<{ app: TestApp; work: StoredWork; hub: EventHub }> {
  const app = await startTestApp(database, { OPENBOT_ROLES: 'api', ...env });
  return { app, work: new StoredWork(database.api, app.nest.get(Sealer)), hub: app.nest.get(EventHub) };
}

/** Who a caller is inside. */
export async function identityOf({ call, organizationId, memberId }: Caller): Promise<Identity> {
  const { body } = await call('GET', '/v1/me');
  const uuid = (kind: 'project' | 'token' | 'member', id: unknown): string => {
    const found = fromPublicId(kind, String(id));
    if (found === null) throw new Error(`no ${kind}: ${String(id)}`);
    return found;
  };
  return {
    context: { organizationId, projectId: uuid('project', body['project']) },
    memberId: uuid('member', memberId),
    tokenId: uuid('token', body['token']),
    credential: 'user_token',
    role: body['role'] as OrganizationRole,
    permissions: rightsOf({ role: body['role'] as OrganizationRole, projectRole: null }),
  };
}

export const pathOf = (executionId: string, rest = ''): string => `/v1/executions/${toPublicId('execution', executionId)}${rest}`;
