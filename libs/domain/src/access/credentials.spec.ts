import fc from 'fast-check';
import { excessOf, excessOfSecret, keyScopes, rightsOfCredential, type MemberKind, type Narrowing } from './credentials.js';
import { permissionNames, type PermissionName } from './permissions.js';
import { covers, rightsOf, type Rights, type Standing } from './rights.js';
import { organizationRoleNames, projectRoleNames, type OrganizationRole, type ProjectRole } from './roles.js';

const places = ['here', 'there'] as const;
const role = fc.constantFrom(...organizationRoleNames);
const projectRole = fc.constantFrom<(ProjectRole | null)[]>(null, ...projectRoleNames);
const narrowing: fc.Arbitrary<Narrowing> = fc.record({
  scopes: fc.option(fc.uniqueArray(fc.constantFrom(...permissionNames), { minLength: 1 })),
  projects: fc.option(fc.uniqueArray(fc.constantFrom(...places), { minLength: 1 })),
});
const index = fc.nat(99);

/** A member that acts, or the key of a person. */
type Principal = { readonly kind: MemberKind; role: OrganizationRole; projectRoles: (ProjectRole | null)[] };
type Made = Narrowing & { readonly by: Principal | null; readonly maker: Principal; readonly parent: Made | null };

const standing = (of: Principal, place: number): Standing => ({ role: of.role, projectRole: of.projectRoles[place] ?? null });
/** What a credential may do in a project; nothing where it may not act. */
const rights = (of: Made, place: number): Rights =>
  of.projects !== null && !of.projects.includes(places[place]!)
    ? new Set()
    : rightsOfCredential({ kind: of.by?.kind ?? 'api_key', acting: of.by && standing(of.by, place), maker: standing(of.maker, place), scopes: of.scopes, projects: of.projects });
const reach = (of: Made): Rights => new Set(places.flatMap((_, place): PermissionName[] => [...rights(of, place)]));

const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('make' as const), with: index, what: fc.constantFrom<MemberKind[]>('person', 'service_account', 'api_key'), wanted: narrowing }),
    fc.record({ do: fc.constant('rotate' as const), with: index, target: index }),
    fc.record({ do: fc.constant('appoint' as const), who: index, role, projectRole }),
  ),
  { minLength: 20, maxLength: 40 },
);

const person = (own: OrganizationRole): Principal => ({ kind: 'person', role: own, projectRoles: [null, null] });

/** One more credential, if the one that asks may make it: for itself, for a service account, or for the organization. */
function make(asks: Made, what: MemberKind, wanted: Narrowing, account: Principal): Made | null {
  const may = what === 'person' ? 'tokens.create' : 'keys.manage';
  if (!reach(asks).has(may) || (what === 'person' && asks.by === null) || excessOf(asks, reach(asks), wanted)) return null;
  const by = what === 'person' ? asks.by : what === 'service_account' ? account : null;
  return { ...wanted, by, maker: asks.maker, parent: asks };
}

const lacks = (held: Rights, wanted: Rights): PermissionName[] => [...wanted].filter((name) => !held.has(name));

/** What a credential has beyond its maker, beyond who acts by it, and beyond what the credential that it was made with is narrowed to. */
function faults(one: Made, place: number): string[] {
  const has = rights(one, place);
  const { scopes = null, projects = null } = one.parent ?? {};
  return [
    ...lacks(rightsOf(standing(one.maker, place)), has),
    ...(one.by ? lacks(rightsOf(standing(one.by, place)), has) : []),
    ...[...has].filter((name) => scopes !== null && !scopes.includes(name)),
    ...(projects !== null && has.size > 0 && !projects.includes(places[place]!) ? [`acts ${places[place]}`] : []),
  ];
}

test('no credential ever has a right that its maker lacks at that moment, nor one that the credential it was made with has not: 1,000 creations and rotations', () => {
  let tried = 0;
  fc.assert(
    fc.property(fc.array(role, { minLength: 3, maxLength: 3 }), steps, (roles, all) => {
      const people = roles.map(person);
      const account: Principal = { kind: 'service_account', role: 'admin', projectRoles: [null, null] };
      const found: string[] = [];
      const made: Made[] = people.map((by) => ({ by, maker: by, scopes: null, projects: null, parent: null }));
      for (const step of all) {
        if (step.do === 'appoint') Object.assign([...people, account][step.who % 4]!, { role: step.role, projectRoles: [step.projectRole, null] });
        else tried += 1;
        const asks = step.do === 'appoint' ? null : made[step.with % made.length]!;
        if (step.do === 'make') made.push(...[make(asks!, step.what, step.wanted, account)].filter((one) => one !== null));
        if (step.do === 'rotate') {
          const target = made[step.target % made.length]!;
          const may = target.maker === asks!.maker && target.by === asks!.by && excessOfSecret(asks!, target) === null;
          // Whoever has seen the new secret holds no more than before.
          if (may) found.push(...places.flatMap((_, place) => lacks(rights(asks!, place), rights(target, place))));
        }
        for (const one of made) for (const place of places.keys()) found.push(...faults(one, place));
      }
      expect(found).toEqual([]);
    }),
    { seed: 4, numRuns: 100 },
  );
  expect(tried).toBeGreaterThan(1_000);
});

test('a program makes no credential for another, and a key none at all', () => {
  const owner: Standing = { role: 'owner', projectRole: null };
  const rightsAs = (kind: MemberKind) => rightsOfCredential({ kind, acting: kind === 'api_key' ? null : owner, maker: owner, scopes: null, projects: null });
  expect(covers(rightsAs('person'), permissionNames)).toBe(true);
  for (const name of ['keys.manage', 'members.create', 'members.manage'] as const) expect(rightsAs('service_account').has(name)).toBe(false);
  expect([...rightsAs('api_key')].sort()).toEqual([...keyScopes].sort());
  expect(keyScopes).not.toContain('tokens.create');
});

test('what is of no project is not for a credential that is for some', () => {
  const owner: Standing = { role: 'owner', projectRole: null };
  const rightsIn = rightsOfCredential({ kind: 'person', acting: owner, maker: owner, scopes: null, projects: ['here'] });
  expect([rightsIn.has('bots.create'), rightsIn.has('members.manage'), rightsIn.has('organization.change')]).toEqual([true, false, false]);
});

test('what is missing is named', () => {
  const reached = new Set<PermissionName>(['bots.read', 'tokens.create']);
  const held = { scopes: ['bots.read', 'bots.create', 'tokens.create'], projects: ['here'] };
  expect(excessOf(held, reached, { scopes: ['bots.read'], projects: ['here'] })).toBeNull();
  expect(excessOf(held, reached, { scopes: ['bots.create', 'chats.read'], projects: ['there'] })).toEqual({
    scopes: ['bots.create', 'chats.read'],
    projects: ['there'],
    allProjects: false,
  });
  expect(excessOf(held, reached, { scopes: null, projects: null })).toEqual({
    scopes: permissionNames.filter((name) => !held.scopes.includes(name)),
    projects: [],
    allProjects: true,
  });
  expect(excessOf({ scopes: null, projects: null }, reached, { scopes: null, projects: null })).toBeNull();
});
