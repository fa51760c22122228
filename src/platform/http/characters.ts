import { ValidateBy, type ValidationOptions } from 'class-validator';

/** A text of `min` to `max` characters as the database counts them: code points. `Length` leaves some out, and lets more in than fits. */
export const Characters = (min: number, max: number, options?: ValidationOptions): PropertyDecorator =>
  ValidateBy(
    {
      name: 'characters',
      constraints: [min, max],
      validator: {
        validate(value: unknown): boolean {
          // Twice as many code units as characters at most: a huge text is not spread to be counted.
          if (typeof value !== 'string' || value.length > max * 2) return false;
          const count = [...value].length;
          return count >= min && count <= max;
        },
        defaultMessage: () => `$property must be a text of ${min} to ${max} characters`,
      },
    },
    options,
  );
