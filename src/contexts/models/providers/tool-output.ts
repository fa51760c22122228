import type { LanguageModelV3FilePart, LanguageModelV3ToolResultOutput } from '@ai-sdk/provider';
import type { FunctionCallOutput, ModelOutputPart } from '@domain/chats/items.js';
import type { WireApi } from './wire.js';

type Content = Extract<LanguageModelV3ToolResultOutput, { type: 'content' }>['value'][number];
type FileOutput = Extract<ModelOutputPart, { type: 'file' }>;
/** What the model reads as the result, and files that the interface takes in a message alone. */
export type TranslatedOutput = { readonly output: LanguageModelV3ToolResultOutput; readonly attached: readonly LanguageModelV3FilePart[] };

const readableImages = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const isText = (mediaType: string): boolean => mediaType.startsWith('text/') || mediaType === 'application/json';
const label = (file: FileOutput): string => `${file.name ?? 'file'} (${file.mediaType})`;
const text = (value: string): Content => ({ type: 'text', text: value });

function fileContent(file: FileOutput, api: WireApi): Content {
  if (isText(file.mediaType)) return text(`${label(file)}:\n${Buffer.from(file.base64, 'base64').toString('utf8')}`);
  if (api === 'chat') return text(isAttachable(file) ? `[${label(file)} follows]` : `[${label(file)} cannot be shown]`);
  if (readableImages.has(file.mediaType)) return { type: 'image-data', data: file.base64, mediaType: file.mediaType };
  if (file.mediaType === 'application/pdf' || api === 'responses')
    return { type: 'file-data', data: file.base64, mediaType: file.mediaType, ...(file.name === undefined ? {} : { filename: file.name }) };
  return text(`[${label(file)} cannot be shown]`);
}

const isAttachable = (file: FileOutput): boolean => readableImages.has(file.mediaType) || file.mediaType === 'application/pdf';

/** Chat completions know text results only: their files go into a message behind the results. */
function attachments(parts: readonly ModelOutputPart[], api: WireApi): LanguageModelV3FilePart[] {
  if (api !== 'chat') return [];
  return parts
    .filter((part): part is FileOutput => part.type === 'file' && isAttachable(part))
    .map((file) => ({ type: 'file', data: file.base64, mediaType: file.mediaType, ...(file.name === undefined ? {} : { filename: file.name }) }));
}

export function toolOutput(item: FunctionCallOutput, api: WireApi): TranslatedOutput {
  const parts = item.modelOutput ?? [{ type: 'text', text: item.output }];
  const content = parts.map((part): Content => (part.type === 'text' ? text(part.text) : fileContent(part, api)));
  const texts = content.filter((part) => part.type === 'text');
  // A failure is marked as one where the interface has a mark, which it has for texts.
  const output: LanguageModelV3ToolResultOutput =
    texts.length === content.length
      ? { type: item.status === 'failed' ? 'error-text' : 'text', value: texts.map((part) => part.text).join('\n') }
      : { type: 'content', value: content };
  return { output, attached: attachments(parts, api) };
}
