import { basename } from 'node:path';

const sayNothing = /^(utils?|helpers?|common|misc)$/;

/** A file or folder name that says nothing collects what has no home. */
const fileName = {
  meta: { type: 'problem', schema: [], messages: { vague: '"{{name}}" says nothing: name the file after what it holds.' } },
  create(context) {
    const parts = context.filename.slice(context.cwd.length).split(/[\\/]/).filter(Boolean);
    const words = [...parts.slice(0, -1), ...basename(context.filename).split('.').slice(0, -1)];
    const name = words.flatMap((part) => [part, ...part.split('-')]).find((word) => sayNothing.test(word));
    return { Program: (node) => name && context.report({ node, messageId: 'vague', data: { name } }) };
  },
};

/** Rules of this house that no plugin brings. test/architecture/lint.spec.ts plants a violation of each. */
export const house = {
  plugin: { rules: { 'file-name': fileName } },
  speaksToTerminal: ['libs/cli/**/*.ts', 'src/cli.ts', 'src/platform/local/**/*.ts'],
  imports: [
    {
      name: '@nestjs/cqrs',
      importNames: ['Saga', 'EventBus', 'AggregateRoot'],
      message: 'It carries no obligation: one throw ends it for the life of the process. Store the work as an execution.',
    },
    { name: 'node:process', importNames: ['env'], message: 'Settings are read in src/platform/config alone.' },
  ],
  syntax: {
    environment: { selector: "MemberExpression[object.name='process'][property.name='env']", message: 'Settings are read in src/platform/config alone; take Config by injection.' },
    transientSaga: { selector: "Decorator[expression.callee.name='Saga']", message: 'A saga is stored: register it with @Workflow.' },
    aggregateRoot: { selector: "ClassDeclaration[superClass.name='AggregateRoot']", message: 'State changes are commands and rows, not objects that publish.' },
    focusedTest: { selector: 'MemberExpression[object.name=/^(describe|test|it)$/][property.name=/^(only|skip|todo)$/]', message: 'A test that does not run proves nothing.' },
    sleep: {
      selector: "NewExpression[callee.name='Promise'] CallExpression[callee.name='setTimeout']:matches([arguments.0.name=/^(r|res|resolve|done)$/])",
      message: 'Wait for a fact, not for time.',
    },
  },
};
