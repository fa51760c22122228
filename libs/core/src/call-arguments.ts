import { isDeeperThan, maxNesting, storableValue } from '@domain/chats/storable-item.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { ToolArguments } from './tool.js';

/** Reads what a model wrote as arguments: a JSON object, or nothing at all for a tool that needs none. The failure is for the model to read. */
export function readArguments(text: string): Result<ToolArguments, string> {
  if (text.trim() === '') return ok({});
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return fail(`The arguments are not valid JSON: ${(error as SyntaxError).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail('The arguments must be a JSON object.');
  if (isDeeperThan(value, maxNesting)) return fail(`The arguments are nested more than ${maxNesting} levels deep.`);
  return ok(storableValue(value) as ToolArguments);
}
