import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { ModelEntry, ModelSelection, ProviderEntry } from '@domain/models/catalog.js';

export class SelectionView implements ModelSelection {
  @ApiProperty({ enum: ['Config.Selection'] }) _tag: 'Config.Selection';
  @ApiProperty({ example: 'development' }) provider: string;
  @ApiProperty({ example: 'mock-text' }) model: string;
  @ApiPropertyOptional({ type: String }) reasoningEffort?: string;
}

export class ProviderView implements ProviderEntry {
  @ApiProperty({ example: 'development' }) id: string;
  @ApiProperty({ example: 'Development scenarios (simulated)' }) name: string;
}

export class ModelView implements ModelEntry {
  @ApiProperty({ enum: ['Config.Model'] }) _tag: 'Config.Model';
  @ApiProperty({ example: 'development' }) provider: string;
  @ApiProperty({ example: 'mock-text' }) id: string;
  @ApiProperty({ example: 'mock-text (simulated)' }) name: string;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Tokens that it reads at once. `null`: unknown.' }) contextWindow: number | null;
  @ApiProperty({ type: [String] }) reasoningEfforts: readonly string[];
  @ApiProperty({ type: [String] }) serviceTiers: readonly string[];
}

export class ModelsView {
  @ApiProperty({ type: SelectionView, nullable: true, description: 'What a bot gets that names no model. `null`: it has to name one.' }) selected: SelectionView | null;
  @ApiProperty({ type: [ProviderView] }) providers: readonly ProviderView[];
  @ApiProperty({ type: [ModelView] }) models: readonly ModelView[];
}
