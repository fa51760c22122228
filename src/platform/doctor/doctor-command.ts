import type { Config } from '@platform/config/config.js';
import { exitCodeOf } from './finding.js';
import { printReport } from './print-report.js';
import { runDoctor } from './run-doctor.js';
import { asWorker } from './worker-login.js';

/** Looks at the database as it is, and prints what to do. Answers the exit code: 0 all well, 1 something to do, 2 it could not look. */
export async function doctor(config: Config, json: boolean, print: (text: string) => void): Promise<number> {
  const report = await asWorker(config, (url) => runDoctor({ url, leaseMs: config.leaseMs }));
  print(json ? JSON.stringify(report, null, 2) : printReport(report));
  return exitCodeOf(report);
}
