import { ValidationError, ValidationTypes, getMetadataStorage } from 'class-validator';

const mustBeObject = (property: string): ValidationError => Object.assign(new ValidationError(), { property, constraints: { isObject: 'must be an object' }, children: [] });

/**
 * class-validator takes a list wherever a nested object is expected, and looks through it for objects: an empty one, or one inside another,
 * passes unseen. These are the errors that it leaves out.
 */
export function misshapenNests(entity: object): ValidationError[] {
  const nested = getMetadataStorage()
    .getTargetValidationMetadatas(entity.constructor, '', false, false)
    .filter(({ type }) => type === (ValidationTypes.NESTED_VALIDATION as string));
  return [...new Set(nested.map(({ propertyName }) => propertyName))].flatMap((property) => {
    const value = (entity as Record<string, unknown>)[property];
    if (!Array.isArray(value)) return value !== null && typeof value === 'object' ? parent(property, misshapenNests(value)) : [];
    const declared: unknown = Reflect.getMetadata('design:type', entity, property);
    if (declared !== Array && declared !== Object) return [mustBeObject(property)];
    return parent(property, value.flatMap(misshapenElement));
  });
}

function misshapenElement(element: unknown, index: number): ValidationError[] {
  if (Array.isArray(element)) return [mustBeObject(String(index))];
  return element !== null && typeof element === 'object' ? parent(String(index), misshapenNests(element)) : [];
}

const parent = (property: string, children: ValidationError[]): ValidationError[] => (children.length === 0 ? [] : [Object.assign(new ValidationError(), { property, children })]);
