import type { ItemContent } from './items.js';

/** What clients see of an item. What only a provider or a model reads stays inside: opaque reasoning data, and a result's form for the model. */
export function shownContent(content: ItemContent): ItemContent {
  switch (content.type) {
    case 'reasoning':
      return { type: 'reasoning', summary: content.summary };
    case 'function_call_output': {
      const { type, callId, status, output } = content;
      return { type, callId, status, output };
    }
    case 'message':
    case 'function_call':
      return content;
  }
}

/** Whether it is a part of a turn's response: what the model itself wrote. */
export const isResponse = (content: ItemContent): boolean => content.type !== 'function_call_output' && !(content.type === 'message' && content.role === 'user');
