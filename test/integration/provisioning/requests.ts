import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export type Step = {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly status: number;
  /** Under which name its id is kept. */
  readonly keep?: string;
  readonly has?: object;
  readonly lacks?: readonly string[];
  readonly members?: readonly string[];
};

export const directories = ['entra', 'okta', 'rfc7644'] as const;
export const stepsOf = (directory: string): readonly Step[] =>
  JSON.parse(readFileSync(join(__dirname, '..', '..', 'fixtures', 'scim', directory, 'requests.json'), 'utf8')) as readonly Step[];

/* eslint-disable @typescript-eslint/no-explicit-any -- answers are looked at field by field */
export type Replayed = { readonly step: Step; readonly status: number; readonly body: any; readonly ids: Readonly<Record<string, string>> };
type Send = (method: string, path: string, body?: object) => Promise<{ readonly status: number; readonly body: any }>;

/** Sends the steps one after the other; answers what came back, with the ids that were known then. */
export async function replay(steps: readonly Step[], send: Send): Promise<readonly Replayed[]> {
  const ids: Record<string, string> = {};
  const named = (text: string): string => text.replace(/\{(\w+)\}/g, (whole, name: string) => ids[name] ?? whole);
  const replayed: Replayed[] = [];
  for (const step of steps) {
    const body = step.body && (JSON.parse(named(JSON.stringify(step.body))) as object);
    const answer = await send(step.method, named(step.path), body);
    if (step.keep !== undefined) ids[step.keep] = answer.body?.id as string;
    replayed.push({ step, ...answer, ids: { ...ids } });
  }
  return replayed;
}
