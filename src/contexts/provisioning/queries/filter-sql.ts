import { fail, ok, type Result } from '@domain/result.js';
import { booleanOf } from '@domain/provisioning/user.js';
import type { ScimInvalid } from '@domain/provisioning/failures.js';
import type { Comparison, Filter, Scalar } from '@domain/provisioning/filter.js';

/** What can be looked for. `sql`: an expression of ours alone. `exact`: its case counts. `id`: turns what somebody sent into what is stored, `null` for what names nothing. */
export type Column =
  | { readonly kind: 'text'; readonly sql: string; readonly exact?: true }
  | { readonly kind: 'boolean'; readonly sql: string }
  | { readonly kind: 'id'; readonly sql: string; readonly read: (text: string) => string | null }
  /** `has`: a condition on one stored value; it stands where the values are looked through. `within`: what a filter in brackets can look for. */
  | { readonly kind: 'many'; readonly value: Column; readonly has: (condition: string) => string; readonly holds?: (parameter: string) => string; readonly within: Columns };
export type Columns = Readonly<Record<string, Column>>;

export type Condition = { readonly sql: string; readonly values: readonly unknown[] };

class Unsupported extends Error {}

/** A filter as a condition of SQL, in which nothing that somebody sent stands but as a parameter, from `$first` on. What there is no column for is refused. */
export function toSql(filter: Filter | null, columns: Columns, first: number): Result<Condition, ScimInvalid> {
  const values: unknown[] = [];
  const parameter = (value: unknown): string => `$${first + values.push(value) - 1}`;
  try {
    return ok({ sql: filter ? conditionOf(filter, columns, parameter) : 'true', values });
  } catch (error) {
    if (error instanceof Unsupported) return fail({ _tag: 'ScimInvalid', scimType: 'invalidFilter', detail: `The filter ${error.message}.` });
    throw error;
  }
}

type Parameter = (value: unknown) => string;

function conditionOf(filter: Filter, columns: Columns, parameter: Parameter): string {
  switch (filter.op) {
    case 'and':
    case 'or':
      return `(${filter.of.map((each) => conditionOf(each, columns, parameter)).join(` ${filter.op} `)})`;
    case 'not':
      return `not coalesce(${conditionOf(filter.of, columns, parameter)}, false)`;
    case 'within': {
      const column = columnOf(filter.path, columns);
      if (column.kind !== 'many') throw new Unsupported('has brackets behind an attribute of one value');
      return column.has(conditionOf(filter.of, column.within, parameter));
    }
    case 'pr':
      return isPresent(columnOf(filter.path, columns));
    case 'ne':
      return `not coalesce(${comparisonOf('eq', columnOf(filter.path, columns), filter.value, parameter)}, false)`;
    default:
      return comparisonOf(filter.op, columnOf(filter.path, columns), filter.value, parameter);
  }
}

function columnOf(path: readonly string[], columns: Columns): Column {
  const name = path.join('.').toLowerCase();
  const found = Object.entries(columns).find(([known]) => known.toLowerCase() === name);
  if (!found) throw new Unsupported(`names an attribute that cannot be looked for: there are ${Object.keys(columns).join(', ')}`);
  return found[1];
}

function isPresent(column: Column): string {
  if (column.kind === 'many') return column.has('true');
  return column.kind === 'text' ? `coalesce(${column.sql}, '') <> ''` : `${column.sql} is not null`;
}

function comparisonOf(op: Comparison, column: Column, value: Scalar, parameter: Parameter): string {
  if (value === null && op === 'eq') return `not ${isPresent(column)}`;
  switch (column.kind) {
    case 'many':
      if (op === 'eq' && column.holds && typeof value === 'string') return column.holds(parameter(value));
      return column.has(comparisonOf(op, column.value, value, parameter));
    case 'boolean':
      return `${column.sql} = ${parameter(wantedBoolean(op, value))}::boolean`;
    case 'id':
      if (op !== 'eq' || typeof value !== 'string') throw new Unsupported('compares an id otherwise than with eq and ne');
      return `${column.sql} = ${parameter(column.read(value))}::uuid`;
    case 'text':
      if (typeof value !== 'string') throw new Unsupported('compares a text with something else');
      return textComparison(op, column, parameter(value));
  }
}

function wantedBoolean(op: Comparison, value: Scalar): boolean {
  const wanted = booleanOf(value);
  if (op !== 'eq' || wanted === null) throw new Unsupported('compares a boolean with something else');
  return wanted;
}

function textComparison(op: Comparison, { sql, exact }: { readonly sql: string; readonly exact?: true }, given: string): string {
  const [held, wanted] = exact ? [sql, `${given}::text`] : [`lower(${sql})`, `lower(${given}::text)`];
  switch (op) {
    case 'eq':
      return `${held} = ${wanted}`;
    case 'co':
      return `position(${wanted} in ${held}) > 0`;
    case 'sw':
      return `starts_with(${held}, ${wanted})`;
    case 'ew':
      return `right(${held}, char_length(${wanted})) = ${wanted}`;
    default:
      throw new Unsupported(`has the operator ${op}, which nothing here is ordered for`);
  }
}
