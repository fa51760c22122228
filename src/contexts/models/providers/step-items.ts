import type { LanguageModelV3StreamPart, SharedV3ProviderMetadata } from '@ai-sdk/provider';
import type { ItemContent } from '@domain/chats/items.js';

type Data = Record<string, unknown>;
type Block =
  | { readonly type: 'text'; readonly id: string; text: string }
  | { readonly type: 'reasoning'; readonly id: string; text: string; data: Data }
  | { readonly type: 'call'; readonly callId: string; readonly name: string; readonly input: string };

const dataOf = (metadata: SharedV3ProviderMetadata | undefined): Data => {
  const { itemId, reasoningEncryptedContent, signature, redactedData } = metadata?.['openai'] ?? metadata?.['anthropic'] ?? {};
  const known = { itemId, reasoningEncryptedContent, signature, redactedData };
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value != null));
};

/** The output of one step in the order in which its blocks began. */
export class StepItems {
  private readonly blocks: Block[] = [];

  constructor(private readonly provider: string) {}

  add(part: LanguageModelV3StreamPart): void {
    switch (part.type) {
      case 'text-start':
        this.blocks.push({ type: 'text', id: part.id, text: '' });
        break;
      case 'text-delta':
        this.open('text', part.id).text += part.delta;
        break;
      case 'reasoning-start':
        this.blocks.push({ type: 'reasoning', id: part.id, text: '', data: dataOf(part.providerMetadata) });
        break;
      case 'reasoning-delta':
      case 'reasoning-end':
        this.reason(part.id, part.type === 'reasoning-delta' ? part.delta : '', dataOf(part.providerMetadata));
        break;
      case 'tool-call':
        this.blocks.push({ type: 'call', callId: part.toolCallId, name: part.toolName, input: part.input });
        break;
      default:
        break;
    }
  }

  items(): ItemContent[] {
    const items: ItemContent[] = [];
    for (const [index, block] of this.blocks.entries()) {
      if (block.type === 'call') items.push({ type: 'function_call', callId: block.callId, name: block.name, arguments: block.input });
      if (block.type === 'text' && block.text !== '') items.push({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: block.text }] });
      if (block.type === 'reasoning' && !this.continuesReasoning(index)) items.push(...this.reasoning(index));
    }
    return items;
  }

  private open<T extends 'text' | 'reasoning'>(type: T, id: string): Extract<Block, { type: T }> {
    const found = this.blocks.findLast((block) => block.type === type && block.id === id) as Extract<Block, { type: T }> | undefined;
    if (!found) throw new Error(`a delta belongs to no open ${type} block`);
    return found;
  }

  private reason(id: string, delta: string, data: Data): void {
    const block = this.open('reasoning', id);
    block.text += delta;
    // A signature may come in pieces' last one only, and encrypted content is complete at the end: the later value is the whole one.
    Object.assign(block.data, data);
  }

  /** Parts of one OpenAI reasoning item are one item: its encrypted content belongs to all of them. */
  private continuesReasoning(index: number): boolean {
    const [block, before] = [this.blocks[index], this.blocks[index - 1]];
    if (block?.type !== 'reasoning' || before?.type !== 'reasoning') return false;
    return block.data['itemId'] !== undefined && block.data['itemId'] === before.data['itemId'];
  }

  private reasoning(first: number): ItemContent[] {
    const texts: string[] = [];
    const data: Data = {};
    for (let index = first; index === first || this.continuesReasoning(index); index += 1) {
      const block = this.blocks[index];
      if (block?.type !== 'reasoning') break;
      if (block.text !== '') texts.push(block.text);
      Object.assign(data, block.data);
    }
    const opaque = Object.keys(data).length > 0;
    if (texts.length === 0 && !opaque) return [];
    const summary = texts.map((text) => ({ type: 'summary_text', text }) as const);
    return [{ type: 'reasoning', summary, ...(opaque ? { provider: this.provider, providerData: data } : {}) }];
  }
}
