import { randomUUID } from 'node:crypto';
import SCIMMY from 'scimmy';

/* eslint-disable @typescript-eslint/no-explicit-any -- the peer's resources are whatever was sent */
type Stored = Record<string, any>;

/** A server of scimmy's core that keeps resources in memory, and answers as its own router does. */
export function startPeer(): (method: string, path: string, body?: object) => Promise<{ readonly status: number; readonly body: any }> {
  const kinds = { Users: declare(SCIMMY.Resources.User.extend(SCIMMY.Schemas.EnterpriseUser, false)), Groups: declare(SCIMMY.Resources.Group) };
  return async (method, path, body) => {
    const url = new URL(path, 'http://peer.example');
    const [, name = '', id] = url.pathname.split('/');
    const Resource = kinds[name as keyof typeof kinds];
    try {
      return { status: method === 'POST' ? 201 : 200, ...(await answerOf(Resource, method, { id, query: Object.fromEntries(url.searchParams), body })) };
    } catch (error) {
      const { status = 500, scimType, message } = error as { status?: number; scimType?: string; message: string };
      return { status: Number(status), body: JSON.parse(JSON.stringify(new SCIMMY.Messages.ErrorResponse({ status, scimType, message } as any))) };
    }
  };
}

function declare(Resource: any): any {
  const stored = new Map<string, Stored>();
  const find = (id: string): Stored => {
    const found = stored.get(id);
    if (!found) throw new SCIMMY.Types.Error(404, null as any, `Resource ${id} not found`);
    return found;
  };
  // The names of users are a matter of whoever keeps them.
  const refuseTaken = (id: string, userName: unknown): void => {
    const taken = [...stored.values()].some((each) => each['id'] !== id && typeof userName === 'string' && String(each['userName']).toLowerCase() === userName.toLowerCase());
    if (taken) throw new SCIMMY.Types.Error(409, 'uniqueness', 'The userName is taken');
  };
  return Resource.ingress((resource: any, data: any) => {
    const id = resource.id ?? randomUUID();
    if (resource.id) find(id);
    const said: Stored = { ...(JSON.parse(JSON.stringify(data)) as Stored), id };
    refuseTaken(id, said['userName']);
    const now = new Date().toISOString();
    stored.set(id, { ...said, meta: { created: now, lastModified: now } });
    return stored.get(id);
  })
    .egress((resource: any) => {
      if (resource.id) return find(resource.id);
      const all = [...stored.values()];
      return resource.filter ? resource.filter.match(all) : all;
    })
    .degress((resource: any) => void (find(resource.id), stored.delete(resource.id)));
}

async function answerOf(
  Resource: any,
  method: string,
  { id, query, body }: { id: string | undefined; query: Stored; body: object | undefined },
): Promise<{ status?: number; body: any }> {
  const resource = id === undefined ? new Resource(query) : new Resource(id, query);
  const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
  switch (method) {
    case 'GET':
      return { body: plain(await resource.read()) };
    case 'PATCH': {
      const patched = await resource.patch(body);
      return patched === undefined ? { status: 204, body: null } : { body: plain(patched) };
    }
    case 'DELETE':
      await resource.dispose();
      return { status: 204, body: null };
    default:
      return { body: plain(await resource.write(body)) };
  }
}
