import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { productEventTypes, type ProductEventType } from '@domain/feed/product-events.js';
import { defaultLimit, maxLimit } from '@platform/http/paging.js';
import { WholeNumber } from '@platform/http/whole-number.js';
import type { ProductEventView } from '../queries/product-event.view.js';

export const maxPosition = 999_999_999_999_999;

export class ObserveFeedQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: maxPosition, default: 0, description: 'The last position that you have: reading goes on behind it.' })
  @WholeNumber()
  @IsInt()
  @Min(0)
  @Max(maxPosition)
  after: number = 0;

  @ApiPropertyOptional({ enum: productEventTypes, description: 'Only events of this type.' })
  @IsOptional()
  @IsIn(productEventTypes)
  type?: ProductEventType;
}

export class FeedQuery extends ObserveFeedQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: maxLimit, default: defaultLimit })
  @WholeNumber()
  @IsInt()
  @Min(1)
  @Max(maxLimit)
  limit: number = defaultLimit;
}

export class FeedFailureView {
  @ApiProperty({ example: 'crashes' }) category: string;
  @ApiProperty({ type: String, nullable: true, example: 'err_01k0000000e00800000000000g' }) errorId: string | null;
}

export class FeedEventView implements ProductEventView {
  @ApiProperty({ type: 'integer', description: 'Its place in the feed of the project. Others in between are not yours.' }) position: number;
  @ApiProperty({ type: 'integer' }) at: number;
  @ApiProperty({ enum: productEventTypes }) type: ProductEventType;
  @ApiProperty({ description: 'The id of the execution, bot or chat that it is about.', example: 'exec_01k0000000e00800000000000g' }) about: string;
  @ApiProperty({ type: 'integer', description: 'How far that had come: the sequence in an execution’s log, the revision of a bot or chat.' }) sequence: number;
  @ApiProperty({ type: String, nullable: true, example: 'turn' }) workflow: string | null;
  @ApiProperty({ type: FeedFailureView, nullable: true }) failure: FeedFailureView | null;
}

export class FeedEventPage {
  @ApiProperty({ type: [FeedEventView] }) items: FeedEventView[];
  @ApiProperty({ type: 'integer', nullable: true, description: 'Send it as `after` to get what is stored behind this page. `null`: these were all.' }) next: number | null;
}
