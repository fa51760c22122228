import { ApiProperty } from '@nestjs/swagger';
import type { ModelCatalog, ModelEntry, ProviderEntry } from '@domain/models/catalog.js';
import { ChatModelSelectionView } from './chats.dto.js';

class ChatModelProviderView implements ProviderEntry {
  @ApiProperty({ example: 'development' }) id: string;
  @ApiProperty({ example: 'Development scenarios (simulated)' }) name: string;
}
class ChatModelView implements ModelEntry {
  @ApiProperty({ enum: ['Config.Model'] }) _tag: 'Config.Model';
  @ApiProperty({ example: 'development' }) provider: string;
  @ApiProperty({ example: 'mock-text' }) id: string;
  @ApiProperty({ example: 'mock-text (simulated)' }) name: string;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Tokens that it reads at once.' }) contextWindow: number | null;
  @ApiProperty({ type: [String] }) reasoningEfforts: string[];
  @ApiProperty({ type: [String] }) serviceTiers: string[];
}
export class ChatModelsView implements ModelCatalog {
  @ApiProperty({ type: ChatModelSelectionView, nullable: true, description: 'What the chat uses now.' }) selected: ChatModelSelectionView | null;
  @ApiProperty({ type: [ChatModelProviderView] }) providers: ChatModelProviderView[];
  @ApiProperty({ type: [ChatModelView] }) models: ChatModelView[];
}
