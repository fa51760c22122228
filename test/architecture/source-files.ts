import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { root } from './planted-tree.js';

const apart = new Set(['node_modules', 'dist', 'coverage', '.git', '.openbot']);

/** Every file below the folders, as paths from the root. What is built or installed is not ours. */
export function listFiles(...folders: readonly string[]): string[] {
  const walk = (folder: string): string[] =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      if (apart.has(entry.name)) return [];
      const path = join(folder, entry.name);
      return entry.isDirectory() ? walk(path) : [relative(root, path)];
    });
  return folders.flatMap((folder) => walk(join(root, folder))).toSorted();
}

export const readSource = (file: string): string => readFileSync(join(root, file), 'utf8');

export type FoundClass = {
  readonly file: string;
  readonly name: string;
  readonly base: string | null;
  readonly decorators: readonly { readonly name: string; readonly argument: string | null }[];
};

/** The classes that the server's source declares, with what they extend and how they are decorated. */
export function listClasses(): FoundClass[] {
  return listFiles('src', 'libs')
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .flatMap((file) => {
      const found: FoundClass[] = [];
      const visit = (node: ts.Node): void => {
        if (ts.isClassDeclaration(node) && node.name) found.push(describeClass(file, node, node.name.text));
        ts.forEachChild(node, visit);
      };
      visit(ts.createSourceFile(file, readSource(file), ts.ScriptTarget.ES2023, true));
      return found;
    });
}

function describeClass(file: string, node: ts.ClassDeclaration, name: string): FoundClass {
  const base = node.heritageClauses?.find((clause) => clause.token === ts.SyntaxKind.ExtendsKeyword)?.types[0]?.expression.getText() ?? null;
  const decorators = (ts.getDecorators(node) ?? []).flatMap(({ expression }) =>
    ts.isCallExpression(expression) ? [{ name: expression.expression.getText(), argument: expression.arguments[0]?.getText() ?? null }] : [],
  );
  return { file, name, base, decorators };
}
