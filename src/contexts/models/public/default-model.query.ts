import { Query } from '@nestjs/cqrs';
import type { ModelSelection } from '@domain/models/catalog.js';

/** The model of a bot that names none: OpenAI's or Anthropic's where the environment has a key, else a simulated one; `null` in production without keys. */
export class DefaultModelQuery extends Query<ModelSelection | null> {}
