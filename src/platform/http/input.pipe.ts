import { ValidationPipe, type ArgumentMetadata } from '@nestjs/common';
import type { ValidationError, ValidatorOptions } from 'class-validator';
import { fieldPath, fromValidation, invalidInput } from './invalid-input.js';
import { misshapenNests } from './nested-shape.js';
import { refusedKeys } from './strict-json.js';

const unstorable = /\0|\p{Surrogate}/u;

/** A query is held to the rules of a body, whose parser has checked it already. */
function checkQuery(value: unknown, path: string): void {
  if (typeof value === 'string' && unstorable.test(value)) throw invalidInput(path || 'query', 'contains a character that cannot be stored');
  if (value === null || typeof value !== 'object') return;
  for (const [key, inner] of Object.entries(value)) {
    if (refusedKeys.has(key)) throw invalidInput(fieldPath(path, key), 'is not allowed as a key');
    checkQuery(inner, fieldPath(path, key));
  }
}

/**
 * Validates what controllers take by its class: unknown fields are refused by name, and the controller gets an instance. Types are never
 * guessed: a query field that is a number says so with `@WholeNumber()`. An id in a path has its own rule, `@PublicId()`: a malformed one is a missing one.
 */
export class InputPipe extends ValidationPipe {
  constructor() {
    super({ whitelist: true, forbidNonWhitelisted: true, transform: true, exceptionFactory: fromValidation });
  }

  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type === 'query') checkQuery(value, metadata.data ?? '');
    const isBody = metadata.type === 'body' && metadata.data === undefined && value !== undefined;
    if (isBody && (value === null || typeof value !== 'object' || Array.isArray(value))) throw invalidInput('body', 'must be an object');
    return (await super.transform(value, metadata)) as unknown;
  }

  protected override async validate(object: object, options?: ValidatorOptions): Promise<ValidationError[]> {
    return [...(await super.validate(object, options)), ...misshapenNests(object)];
  }
}
