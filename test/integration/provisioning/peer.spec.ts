import { startPeer } from './peer.js';
import { directories, replay, stepsOf, type Replayed } from './requests.js';
import { connectDirectory, openWorld, type World } from './world.js';

/* eslint-disable @typescript-eslint/no-explicit-any -- answers are looked at field by field */
let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

/** What both define: not its id and what is made of ids, nor how members are shown beside their ids.
 * `itemsPerPage` is how many there are on the page for us, and how many were asked for with scimmy: RFC 7644, 3.4.2, says the former. */
function common(value: any, ids: Readonly<Record<string, string>>): any {
  const names = new Map(Object.entries(ids).map(([name, id]) => [id, name]));
  const shown = (each: any): any => {
    // The order of values says nothing.
    if (Array.isArray(each)) return each.map(shown).toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
    if (typeof each !== 'object' || each === null) return names.get(each) ?? each;
    const { id: _, meta: _meta, schemas: _schemas, groups: _groups, detail: _detail, $ref: _ref, itemsPerPage: _page, ...rest } = each;
    const entries = Object.entries(rest).map(([name, inner]) => [name, name === 'members' ? (inner as any[]).map((member) => shown(member.value)) : shown(inner)]);
    return Object.fromEntries(entries.filter(([, inner]) => !(Array.isArray(inner) && inner.length === 0)));
  };
  return shown(value ?? {});
}
/** Of a changed group we answer nothing, as the standard allows: it may have very many members. The peer answers all of it. */
const answered = ({ step, status, body, ids }: Replayed) => {
  const isChangedGroup = step.method === 'PATCH' && step.path.startsWith('/Groups') && status < 300;
  return isChangedGroup ? { status: 'changed' } : { ...common(body, ids), status };
};

type Difference = { readonly step: string; readonly why: string };
const differences: Readonly<Record<(typeof directories)[number], readonly Difference[]>> = {
  entra: [
    {
      step: 'add a value that is not there yet',
      why: 'scimmy answers noTarget, to the letter of 3.5.2.1. Entra sends this for every new phone number and expects the value to be there.',
    },
    { step: 'remove it', why: 'Follows from the step before: there is nothing to remove with scimmy, which says 204.' },
    { step: 'enable user, as text', why: 'scimmy takes no text for a boolean. Entra sends one, unless its administrator has turned that off.' },
    { step: 'disable user, as text', why: 'As before: a leaver who stays because of a quotation mark is worse.' },
    { step: 'whether somebody is a member', why: 'scimmy compares the whole member with the text; Entra means its value.' },
  ],
  okta: [],
  rfc7644: [
    { step: '3.4.2.2 a path with its schema', why: 'scimmy finds nothing by a name with its schema, which 3.10 allows.' },
    { step: '3.4.2.4 a page behind the last', why: 'scimmy answers the last page for one behind it; 3.4.2.4 knows no such thing.' },
    { step: '3.5.2.3 replace all values without a path', why: 'scimmy adds the values to those before. 3.5.2.3 says that they are replaced.' },
    { step: '3.5.2.2 remove an attribute', why: 'Follows from the replacement before.' },
    { step: '3.4.2.2 no filter', why: 'scimmy reads a filter without a value as one that nobody matches; 3.4.2.2 has invalidFilter for it.' },
    { step: '3.5.1 replace', why: 'A PUT that does not say whether somebody is active lets nobody in and out with us: it keeps what is so. scimmy forgets it, as 3.5.1 allows.' },
    { step: '3.6 and so is the member', why: 'Our groups have no members that are gone. Whoever builds on scimmy keeps that themselves.' },
  ],
};

test.each(directories)('what %s sends is answered alike by scimmy, but for what is listed', async (directory) => {
  const { scim } = await connectDirectory(world);
  const [ours, theirs] = [await replay(stepsOf(directory), (method, path, body) => scim(method, encodeURI(path), body)), await replay(stepsOf(directory), startPeer())];
  const found = ours.flatMap((own, index) => {
    const [a, b] = [answered(own), answered(theirs[index]!)];
    return textOf(a) === textOf(b) ? [] : [{ step: own.step.name, ours: a, scimmy: b }];
  });
  const listed = differences[directory].map(({ step }) => step);
  expect(found.filter(({ step }) => !listed.includes(step))).toEqual([]);
  // What is listed and does not differ any more has no reason left.
  expect(listed.filter((step) => !found.some((each) => each.step === step))).toEqual([]);
});

/** Whatever the order of its keys. */
const textOf = (value: any): string => JSON.stringify(sorted(value));
const sorted = (value: any): any => {
  if (Array.isArray(value)) return value.map(sorted);
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(
        Object.entries(value)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, inner]) => [key, sorted(inner)]),
      )
    : value;
};
