import fc from 'fast-check';
import { childIdentity, narrowed, rightsWithin, unlimited, type ExecutionIdentity, type ExecutionLimits } from './execution-identity.js';
import { permissionNames } from './permissions.js';
import { covers } from './rights.js';

const rights = fc.subarray([...permissionNames]);
const limits: fc.Arbitrary<ExecutionLimits> = fc.record({ rights: fc.option(rights), endsAt: fc.option(fc.nat()), steps: fc.option(fc.nat()) });
const id = fc.uuid();
const identity: fc.Arbitrary<ExecutionIdentity> = fc.record({
  owner: id, actor: id, token: id, speaker: fc.option(id), bot: fc.option(id), delegation: fc.option(id), source: fc.option(id), limits,
}); // prettier-ignore
const added = fc.record({ bot: fc.option(id), delegation: fc.option(id), limits }, { requiredKeys: [] });
/** Whether `one` is held to at least everything that `other` is. */
const isWithin = (one: ExecutionLimits, other: ExecutionLimits): boolean =>
  (other.endsAt === null || (one.endsAt !== null && one.endsAt <= other.endsAt)) &&
  (other.steps === null || (one.steps !== null && one.steps <= other.steps)) &&
  covers(rightsWithin(new Set(permissionNames), other), rightsWithin(new Set(permissionNames), one));

test('a child never may what its source may not, nor for longer, however deep and whatever its callers ask', () => {
  fc.assert(
    fc.property(identity, fc.array(added, { minLength: 1, maxLength: 6 }), rights, (root, asked, now) => {
      const line = asked.reduce((parents, add, depth) => [...parents, childIdentity(parents.at(-1)!, `execution-${depth}`, add)], [root]);
      for (const [index, child] of line.entries())
        for (const source of line.slice(0, index)) {
          expect(isWithin(child.limits, source.limits)).toBe(true);
          expect(covers(rightsWithin(new Set(now), source.limits), rightsWithin(new Set(now), child.limits))).toBe(true);
          expect([child.owner, child.actor, child.token, child.speaker]).toEqual([root.owner, root.actor, root.token, root.speaker]);
        }
      expect(line.slice(1).map(({ source }) => source)).toEqual(asked.map((_, depth) => `execution-${depth}`));
    }),
  );
});

test('limits add up the same in every order, and twice is once', () => {
  fc.assert(
    fc.property(limits, limits, limits, (a, b, c) => {
      expect(narrowed(narrowed(a, b), c)).toEqual(narrowed(a, narrowed(b, c)));
      expect(narrowed(a, b)).toEqual(narrowed(b, a));
      expect(narrowed(narrowed(a, b), b)).toEqual(narrowed(a, b));
      expect(narrowed(a, unlimited)).toEqual(narrowed(a, a));
      expect(isWithin(narrowed(a, b), a) && isWithin(narrowed(a, b), b)).toBe(true);
    }),
  );
});

test('adding is monotone: what is held to more stays so whatever both get', () => {
  fc.assert(fc.property(limits, limits, limits, (a, b, c) => isWithin(narrowed(narrowed(a, b), c), narrowed(a, c))));
});

test('what was taken from the token is not there, whatever the limits name', () => {
  fc.assert(fc.property(limits, rights, (held, now) => covers(new Set(now), rightsWithin(new Set(now), held))));
});
