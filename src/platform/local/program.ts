import type { Result } from '@domain/result.js';
import type { BadVariable } from '@platform/config/env.js';
import type { Config } from '@platform/config/config.js';
import { StartFailure } from './start-failure.js';

/** What an entry point tells its operator, and what it has open. */
export type Program = {
  /** Only what has been said so far says what takes its time. */
  progress(line: string): void;
  /** Closed in reverse order when the process is told to stop, or cannot start. */
  onStop(close: () => Promise<unknown>): void;
  /** What runs can go on no longer: it says why in one line, closes what is open and exits with 1. */
  fail(error: unknown): void;
  /** How long running work may go on when the process is told to stop. */
  graceMs: number;
};

/** How long closing may take behind the grace period of running work, before the process ends without it. */
const closingMs = 30_000;

/** npm sends the Ctrl-C of its terminal on to a program that has got it already: a signal this soon is the same one again. */
const sameSignalMs = 1_500;

/** Nothing of a URL that could hold a password. */
const redact = (text: string): string => text.replace(/:\/\/[^\s/@]*@/g, '://');

/** A failure that its reader can remove is one line. What nobody foresaw comes with the place where it happened. */
export const describeFailure = (error: unknown): string => {
  if (error instanceof StartFailure) return error.message;
  return redact(error instanceof Error ? (error.stack ?? error.message) : String(error));
};

export const configOrFailure = (loaded: Result<Config, BadVariable>): Config => {
  if (loaded.ok) return loaded.value;
  throw new StartFailure(`${loaded.failure.variable} ${loaded.failure.expected}.`);
};

/** Ends a start at its next step, once the process was told to stop. */
class Stopped extends Error {}

/**
 * Runs an entry point. SIGINT and SIGTERM close what is open and end the process, at any moment of its start too; a second one
 * ends it at once. A start that fails says why in one line, behind `failed`, and exits with 1. A `start` that returns a number ends the process with it.
 */
export async function runProgram(start: (program: Program) => Promise<'runs' | number>, failed = 'OpenBot cannot start. '): Promise<void> {
  const open: (() => Promise<unknown>)[] = [];
  let stopping = false;
  let toldAt = 0;
  const goOn = (): void => {
    if (stopping) throw new Stopped();
  };
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const program: Program = {
    progress: (line) => (goOn(), say(line)),
    onStop: (close) => (open.push(close), goOn()),
    fail: (error) => {
      if (stopping) return;
      process.stderr.write(`OpenBot stops. ${describeFailure(error)}\n`);
      leave(1);
    },
    graceMs: 0,
  };

  const closeAll = async (): Promise<void> => {
    for (let close = open.pop(); close; close = open.pop()) await close().catch((error: unknown) => process.stderr.write(`While stopping: ${describeFailure(error)}\n`));
  };
  // What a library keeps open must not keep the process: everything of ours is closed by then.
  const end = (code: number): void => process.exit(code);
  let started: Promise<'runs' | number> = Promise.resolve('runs');
  const leave = (code: number): void => {
    stopping = true;
    toldAt = performance.now();
    setTimeout(end, closingMs + program.graceMs, 1).unref();
    // A start that is under way has opened what only its own next step tells of.
    void started.catch(() => undefined).then(closeAll).then(() => end(code)); // prettier-ignore
  };
  const stop = (): void => {
    if (stopping) return performance.now() - toldAt < sameSignalMs ? undefined : end(1);
    say('Stopping');
    leave(0);
  };
  // Whoever read our lines may have gone.
  process.stdout.on('error', () => undefined);
  process.on('SIGINT', stop).on('SIGTERM', stop);

  try {
    started = start(program);
    const outcome = await started;
    if (outcome === 'runs' || stopping) return;
    await closeAll();
    end(outcome);
  } catch (error) {
    if (stopping) return;
    process.stderr.write(`${failed}${describeFailure(error)}\n`);
    await closeAll();
    end(1);
  }
}
