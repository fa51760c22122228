import { parseArgs } from 'node:util';
import { StartFailure } from './start-failure.js';

/** How long a value may be, in characters as the database counts them; and whether there must be one. */
export type OptionRule = { readonly required: boolean; readonly least: number; readonly most: number; readonly form?: RegExp };

function checkValue(option: string, value: string | undefined, { required, least, most, form }: OptionRule): string | null {
  if (value === undefined && !required) return null;
  if (value === undefined) throw new StartFailure(`--${option} is missing: give it as --${option} <value>.`);
  const text = value.trim();
  const count = [...text].length;
  if (count < least || count > most || /\p{Cc}/u.test(text)) throw new StartFailure(`--${option} must be one line of ${least} to ${most} characters.`);
  if (form && !form.test(text)) throw new StartFailure(`--${option} does not have the form that it needs.`);
  return text;
}

/** The options of a command by their names; `flags` are those that have no value, and are no part of the answer. Anything else, and a value that breaks its rule, is refused in one line that names it. */
export function readOptions<K extends string>(args: readonly string[], rules: Readonly<Record<K, OptionRule>>, flags: readonly string[] = []): Record<K, string | null> {
  const names = Object.keys(rules) as K[];
  const { values, tokens } = parseArgs({
    args: args.filter((arg) => !flags.includes(arg)),
    strict: false,
    tokens: true,
    options: Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])),
  });
  for (const token of tokens) {
    if (token.kind === 'positional') throw new StartFailure(`"${token.value.slice(0, 100)}" belongs to no option: put a value of several words in quotes.`);
    if (token.kind === 'option' && !names.includes(token.name as K))
      throw new StartFailure(`${token.rawName.slice(0, 100)} is not known: the options are ${[...names.map((name) => `--${name}`), ...flags].join(', ') || 'none'}.`);
    // What looks like the next option is no value.
    if (token.kind === 'option' && (token.value === undefined || (!token.inlineValue && token.value.startsWith('--'))))
      throw new StartFailure(`${token.rawName} needs a value: give it as ${token.rawName} <value>.`);
  }
  const given = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []));
  const twice = given.find((name, index) => given.indexOf(name) !== index);
  if (twice) throw new StartFailure(`--${twice} is given twice: give it once.`);
  return Object.fromEntries(names.map((name) => [name, checkValue(name, values[name] as string | undefined, rules[name])])) as Record<K, string | null>;
}
