import { HttpException } from '@nestjs/common';
import type { ValidationError } from 'class-validator';

export type Violation = { readonly field: string; readonly reason: string };
const maxViolations = 20;

/** `field` and `reason` are the first violation's: most clients show one. A field is a path: `input[0].content`; `body` is the whole. */
export class InvalidInput extends HttpException {
  constructor(violations: readonly [Violation, ...Violation[]]) {
    const [{ field, reason }] = violations;
    super({ _tag: 'InvalidInput', message: `${field} ${reason}.`, field, reason, violations: violations.slice(0, maxViolations) }, 400);
  }
}

export const invalidInput = (field: string, reason: string): InvalidInput => new InvalidInput([{ field, reason }]);

const name = /^[A-Za-z_$][\w$-]*$/;
/** One more step of a path: a member by its name, an array's element by its index. */
export const fieldPath = (parent: string, step: string | number): string => {
  if (typeof step === 'number' || /^\d+$/.test(step)) return `${parent}[${step}]`;
  const text = step.length > 64 ? `${step.slice(0, 64)}…` : step;
  if (!name.test(text)) return `${parent}[${JSON.stringify(text)}]`;
  return parent === '' ? text : `${parent}.${text}`;
};

/** class-validator writes "input must be a string"; the field is told apart, so that only the rule stays. */
const reasonOf = (property: string, text: string): string => {
  if (text === `property ${property} should not exist`) return 'is not a known field';
  const ofEach = `each value in ${property} `;
  if (text.startsWith(ofEach)) return `has a wrong value: each ${text.slice(ofEach.length)}`;
  return text.startsWith(`${property} `) ? text.slice(property.length + 1) : text;
};

function flatten(errors: readonly ValidationError[], parent: string): Violation[] {
  return errors.flatMap(({ property, value, constraints, children = [] }) => {
    const field = fieldPath(parent, property);
    if (constraints && value === undefined && !('whitelistValidation' in constraints || 'isObject' in constraints)) return [{ field, reason: 'is required' }];
    // Decorators run from the last to the first: turned round, the type comes before its limits.
    const own = Object.values(constraints ?? {}).reverse();
    return [...own.map((text) => ({ field, reason: reasonOf(property, text) })), ...flatten(children, field)];
  });
}

export function fromValidation(errors: readonly ValidationError[]): InvalidInput {
  const [first, ...rest] = flatten(errors, '');
  return first ? new InvalidInput([first, ...rest]) : invalidInput('body', 'must be an object');
}
