import { connectDirectory, openWorld, type World } from './world.js';
import { directories, replay, stepsOf } from './requests.js';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

test.each(directories)('what %s sends is answered as it expects', async (directory) => {
  const { scim } = await connectDirectory(world);
  const answers = await replay(stepsOf(directory), (method, path, body) => scim(method, encodeURI(path), body));
  for (const { step, status, body, ids } of answers) {
    const { name, has = {}, lacks = [], members } = step;
    expect({ name, status, body: body ?? {} }).toMatchObject({ name, status: step.status, body: has });
    for (const attribute of lacks) expect({ name, body }).not.toHaveProperty(['body', attribute]);
    if (members) expect({ name, members: body.members.map(({ value }: { value: string }) => value).sort() }).toEqual({ name, members: members.map((each) => ids[each]).sort() });
  }
  expect(answers.length).toBeGreaterThan(20);
});
