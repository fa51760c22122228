import { HttpException, Param, type PipeTransform } from '@nestjs/common';
import { ValidateBy, type ValidationOptions } from 'class-validator';
import { idPrefixes, type IdKind } from '@domain/ids.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import type { Problem } from './problem.js';

/**
 * An id in the path, handed to the controller as its UUID. A malformed one is a missing one: it answers with the same body as the route's
 * own failure `tag`, which carries no fields beside its tag.
 *
 *     @Get(':chatId')
 *     readChat(@PublicId('chatId', 'chat', readChatProblems, 'ChatNotFound') chatId: string)
 */
export function PublicId<P extends Readonly<Record<string, Problem>>>(param: string, kind: IdKind, problems: P, tag: keyof P & string): ParameterDecorator {
  const problem = problems[tag];
  if (!problem) throw new TypeError(`the problem table has no ${tag}`);
  const pipe: PipeTransform<string, string> = {
    transform(text) {
      const uuid = fromPublicId(kind, text);
      if (uuid === null) throw new HttpException({ _tag: tag, message: problem.message }, problem.status);
      return uuid;
    },
  };
  return Param(param, pipe);
}

/** An id in a body or a query, kept as it was sent: the controller turns it into a UUID with `fromPublicId`. */
export const IsPublicId = (kind: IdKind, options?: ValidationOptions): PropertyDecorator =>
  ValidateBy(
    {
      name: 'isPublicId',
      validator: {
        validate: (value: unknown) => typeof value === 'string' && fromPublicId(kind, value) !== null,
        defaultMessage: () => `$property must be an id that starts with ${idPrefixes[kind]}_`,
      },
    },
    options,
  );
