import ts from 'typescript';
import { pointsElsewhere, troublePoints, turnPoints, workPoints } from '../proof/crash/matrix-points.js';
import { listFiles, readSource } from './source-files.js';

type Reached = { readonly file: string; readonly point: string; readonly names: RegExp };

const quoted = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The point that an argument names; a template names a family of points. */
function pointOf(argument: ts.Expression | undefined): { readonly point: string; readonly pattern: string } | null {
  if (argument && ts.isStringLiteralLike(argument)) return { point: argument.text, pattern: quoted(argument.text) };
  if (!argument || !ts.isTemplateExpression(argument)) return null;
  const parts = [argument.head.text, ...argument.templateSpans.map(({ literal }) => literal.text)];
  return { point: parts.join('*'), pattern: parts.map(quoted).join('.+') };
}

/** Every call of `reach` in the program. */
function reachedPoints(): Reached[] {
  return listFiles('src', 'libs')
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .flatMap((file) => {
      const found: Reached[] = [];
      const visit = (node: ts.Node): void => {
        ts.forEachChild(node, visit);
        if (!ts.isCallExpression(node) || !/(^|\.)reach$/.test(node.expression.getText())) return;
        const named = pointOf(node.arguments[0]);
        if (!named) throw new Error(`${file}: ${node.getText()} does not name its point`);
        found.push({ file, point: named.point, names: new RegExp(`^${named.pattern}$`) });
      };
      visit(ts.createSourceFile(file, readSource(file), ts.ScriptTarget.ES2023, true));
      return found;
    });
}

describe('debug points', () => {
  const reached = reachedPoints();
  const armed = [...workPoints, ...troublePoints, ...turnPoints].map(({ point }) => point);

  test('every point of the program is armed by a cell of the crash matrix, or by a test that is named with the reason', () => {
    const elsewhere = new Set(pointsElsewhere.map(({ point }) => point));
    const unarmed = reached.filter(({ point, names }) => !elsewhere.has(point) && !armed.some((name) => names.test(name)));
    expect(unarmed.map(({ file, point }) => `${point} in ${file}`)).toEqual([]);
    expect(reached.length).toBeGreaterThan(30);
  });

  test('what is armed exists', () => {
    expect(armed.filter((name) => !reached.some(({ names }) => names.test(name)))).toEqual([]);
    expect(pointsElsewhere.filter(({ point }) => !reached.some(({ names }) => names.test(point)))).toEqual([]);
  });

  test.each(pointsElsewhere)('$point is armed in $test', ({ point, because, test: file }) => {
    expect(because).not.toBe('');
    expect(readSource(file)).toContain(`'${point}'`);
  });
});
