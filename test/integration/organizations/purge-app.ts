import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import type { TestApp } from '@test/support/app.js';
import { eventually } from '@test/support/eventually.js';
import { startChatApp, type Answer, type ChatApp, type Person } from '../chats/chat-app.js';

/* eslint-disable @typescript-eslint/no-explicit-any -- answers of routes are looked at field by field */
export type Project = { readonly id: string; readonly uuid: string; readonly organizationId: string; readonly prefix: string };

export type PurgeApp = ChatApp & {
  readonly as: TestApp['as'];
  /** A new project of the person's organization. */
  project(owner: Person, name?: string): Promise<Project>;
  /** The same person with a token that acts in this project alone. */
  inside(owner: Person, project: Project): Promise<Person>;
  remove(by: Person, project: Project, more?: { readonly expected?: number; readonly key?: string }): Promise<Answer>;
  /** The receipt, once the purge is in this state. */
  purged(by: Person, project: Project, state?: string, timeoutMs?: number): Promise<any>;
};

/** The program with its worker, and what tests of purges do with it. */
export async function startPurgeApp(env: Record<string, string> = {}): Promise<PurgeApp> {
  const app = await startChatApp({ OPENBOT_ROLES: 'api', ...env });
  const server = await app.start(env);
  const as = server.as;
  return {
    ...app,
    as,
    person: async () => await server.createTenant(),
    project: async (owner, name = 'Research') => {
      const { id } = (await owner.call('POST', '/v1/projects', { name })).body as { id: string };
      const uuid = fromPublicId('project', id)!;
      return { id, uuid, organizationId: owner.organizationId, prefix: `${owner.organizationId}/${uuid}/` };
    },
    inside: async (owner, { id }) => {
      const { token } = (await owner.call('POST', '/v1/me/tokens', { name: 'Inside', projects: [id] })).body as { token: string };
      return { ...owner, token, call: as(token) };
    },
    remove: ({ token }, { id }, { expected = 1, key } = {}) =>
      as(token)('DELETE', `/v1/projects/${id}?expected=${expected}`, undefined, key === undefined ? {} : { 'idempotency-key': key }),
    purged: async ({ call }, { uuid }, state = 'completed', timeoutMs = 60_000) =>
      (
        await eventually(
          () => call('GET', `/v1/organization/project-purges/${toPublicId('purge', uuid)}`),
          ({ body }) => body.state === state,
          timeoutMs,
        )
      ).body,
  };
}
