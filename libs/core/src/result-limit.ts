import type { ModelOutputPart } from '@domain/chats/items.js';
import type { ToolResult } from './tool.js';

export type ResultLimits = {
  /** Of `output`, and of all text in `modelOutput` together. */
  readonly characters: number;
  /** Of all files in `modelOutput` together, as base64. */
  readonly fileCharacters: number;
};
export const defaultResultLimits: ResultLimits = { characters: 60_000, fileCharacters: 8_000_000 };

/** Cuts text and says so at its end, so that a model does not take a part for the whole. */
export function limitText(text: string, characters: number): string {
  if (text.length <= characters) return text;
  // A cut between the halves of a pair would leave half a character.
  const end = /[\uD800-\uDBFF]/.test(text.charAt(characters - 1)) ? characters - 1 : characters;
  return `${text.slice(0, end)}\n[Result cut: these are the first ${end} of ${text.length} characters.]`;
}

function limitParts(parts: readonly ModelOutputPart[], limits: ResultLimits): readonly ModelOutputPart[] {
  let text = limits.characters;
  let file = limits.fileCharacters;
  return parts.map((part) => {
    if (part.type === 'text') {
      const kept = limitText(part.text, text);
      text = Math.max(0, text - part.text.length);
      return { ...part, text: kept };
    }
    if (part.base64.length > file) return { type: 'text', text: `[File ${part.name ?? part.mediaType} left out: the files of this result are too large.]` };
    file -= part.base64.length;
    return part;
  });
}

export function limitResult(result: ToolResult, limits: ResultLimits): ToolResult {
  const output = limitText(result.output, limits.characters);
  return result.modelOutput ? { ...result, output, modelOutput: limitParts(result.modelOutput, limits) } : { ...result, output };
}
