import { createRequire } from 'node:module';
import { join } from 'node:path';
import { plantTree, root, runNode } from './planted-tree.js';

type Rule = { readonly name: string };
type Report = { readonly summary: { readonly violations: readonly { readonly from: string; readonly rule: Rule }[]; readonly totalCruised: number } };

const config = join(root, 'config/dependency-cruiser.cjs');
const folders = ['src', 'libs', 'migrations'];

async function cruise(path: string): Promise<Report['summary']> {
  const program = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  const { stdout, stderr } = await runNode([program, '--config', config, '--output-type', 'json', ...folders], path);
  if (!stdout.startsWith('{')) throw new Error(`the boundary check did not run: ${stderr || stdout}`);
  return (JSON.parse(stdout) as Report).summary;
}

/** What the planted files import; each of them keeps every rule itself. */
const bystanders = {
  'libs/domain/src/rule.ts': `export const rule = 1;`,
  'libs/core/src/loop.ts': `export const loop = 1;`,
  'libs/client/src/sdk.ts': `export const sdk = 1;`,
  'libs/protocol/src/step.ts': `import { rule } from '@domain/rule.js';\nexport const step = rule;`,
  'src/platform/clock.ts': `export const clock = 1;`,
  'src/main.ts': `export const main = 1;`,
  'src/contexts/chats/public/events.ts': `export class ChatOpened {}`,
  'src/contexts/chats/entities/chat.entity.ts': `export class ChatEntity {}`,
  'src/contexts/chats/queries/visible-chat.ts': `export const visibleChat = 1;`,
  'src/contexts/chats/http/chats.problems.ts': `export const problems = {};`,
};

/** Rule → the one file that breaks it, and its text. */
const planted: Readonly<Record<string, readonly [file: string, text: string]>> = {
  'no-circular': ['libs/domain/src/egg.ts', `import type { Hen } from '@domain/hen.js';\nexport type Egg = { hatches: Hen };`],
  'imports-resolve': ['src/platform/lost.ts', `import { nothing } from '@platform/nowhere.js';\nexport const lost = nothing;`],
  'domain-is-pure': ['libs/domain/src/impure.ts', `import { readFileSync } from 'node:fs';\nexport const impure = readFileSync;`],
  'core-is-standalone': ['libs/core/src/attached.ts', `import { Injectable } from '@nestjs/common';\nexport const attached = Injectable;`],
  'protocol-is-standalone': ['libs/protocol/src/attached.ts', `import { request } from 'node:http';\nexport const attached = request;`],
  'client-is-public': ['libs/client/src/inside.ts', `import type { rule } from '@domain/rule.js';\nexport type Inside = typeof rule;`],
  'engine-knows-no-feature': ['libs/engine/src/feature.ts', `import { loop } from '@core/loop.js';\nexport const feature = loop;`],
  'engine-needs-little': ['libs/engine/src/heavy.ts', `import { fastify } from 'fastify';\nexport const heavy = fastify;`],
  'console-and-cli-use-the-sdk': ['libs/cli/src/shortcut.ts', `import { rule } from '@domain/rule.js';\nexport const shortcut = rule;`],
  'libs-never-import-src': ['libs/testing/src/server.ts', `import { clock } from '@platform/clock.js';\nexport const server = clock;`],
  'platform-knows-no-context': ['src/platform/nosy.ts', `import type { ChatOpened } from '@contexts/chats/public/events.js';\nexport type Nosy = ChatOpened;`],
  'contexts-meet-at-public': [
    'src/contexts/bots/queries/foreign.ts',
    `import { visibleChat } from '@contexts/chats/queries/visible-chat.js';\nexport const foreign = visibleChat;`,
  ],
  'public-is-light': ['src/contexts/chats/public/heavy.ts', `import { ChatEntity } from '../entities/chat.entity.js';\nexport const heavy = ChatEntity;`],
  'http-only-in-http': ['src/contexts/chats/commands/routed.command.ts', `import { problems } from '../http/chats.problems.js';\nexport const routed = problems;`],
  'entry-points-only-join': ['src/app.module.ts', `import { visibleChat } from '@contexts/chats/queries/visible-chat.js';\nexport const app = visibleChat;`],
  'nothing-imports-an-entry-point': ['src/platform/upward.ts', `import { main } from '../main.js';\nexport const upward = main;`],
  'migrations-stand-alone': ['migrations/1764500000000-clever.ts', `import { rule } from '@domain/rule.js';\nexport const clever = rule;`],
};

const alsoNeeded = { 'libs/domain/src/hen.ts': `import type { Egg } from '@domain/egg.js';\nexport type Hen = { lays: Egg };` };

describe('boundaries', () => {
  test('this repository breaks none', async () => {
    const { violations, totalCruised } = await cruise(root);
    expect(violations.map((violation) => `${violation.rule.name}: ${violation.from}`)).toEqual([]);
    expect(totalCruised).toBeGreaterThan(20);
  });

  describe('a planted violation', () => {
    let reported: Report['summary']['violations'];
    beforeAll(async () => {
      const tree = await plantTree({ ...bystanders, ...alsoNeeded, ...Object.fromEntries(Object.values(planted)) });
      reported = (await cruise(tree.path)).violations;
      await tree.remove();
    });

    test.each(Object.entries(planted))('%s is reported, and no other rule', (name, [file]) => {
      const rules = reported.filter((violation) => violation.from === file).map((violation) => violation.rule.name);
      expect([...new Set(rules)]).toEqual([name]);
    });

    test('nothing else is reported', () => {
      const expected = [...Object.values(planted).map(([file]) => file), ...Object.keys(alsoNeeded)];
      expect(reported.map((violation) => violation.from).filter((file) => !expected.includes(file))).toEqual([]);
    });

    test('exists for every rule of the configuration', () => {
      const { forbidden } = createRequire(__filename)(config) as { readonly forbidden: readonly Rule[] };
      expect(Object.keys(planted).toSorted()).toEqual(forbidden.map((rule) => rule.name).toSorted());
    });
  });
});
