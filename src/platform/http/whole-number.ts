import { Transform } from 'class-transformer';

const decimal = /^-?\d{1,15}$/;

/** Turns a query's text into the number that it spells. Everything else stays a text, so that `@IsInt()` refuses it: `Number('')` would be 0. */
export const WholeNumber = (): PropertyDecorator => Transform(({ value }: { value: unknown }) => (typeof value === 'string' && decimal.test(value) ? Number(value) : value));
