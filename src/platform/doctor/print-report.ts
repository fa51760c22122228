import type { Finding, Report } from './finding.js';

const words: Readonly<Record<Finding['verdict'], string>> = { well: 'ok', act: 'ACT', unseen: '?', unasked: '-' };

const line = ({ name, verdict, count, more, detail }: Finding): string => {
  const figure = verdict === 'well' || verdict === 'act' ? `${count}${more ? '+' : ''}` : '';
  return `${words[verdict].padEnd(4)}${name.padEnd(30)}${figure.padStart(7)}  ${detail ?? ''}`.trimEnd();
};

/** A line for each check, and under those with something to do what it is and where. */
export function printReport({ findings }: Report): string {
  const lines = findings.flatMap((finding) => [
    line(finding),
    ...(finding.verdict === 'act' ? [`    ${finding.advice}`, ...(finding.examples.length > 0 ? [`    e.g. ${finding.examples.join(' ')}`] : [])] : []),
  ]);
  const acts = findings.filter(({ verdict }) => verdict === 'act').length;
  const asked = findings.filter(({ verdict }) => verdict !== 'unasked').length;
  const unseen = findings.filter(({ verdict }) => verdict === 'unseen').length;
  const end = acts > 0 ? `${acts} of ${asked} checks found something to do.` : unseen > 0 ? 'Not everything could be looked at.' : 'All is well.';
  return [...lines, '', end].join('\n');
}
