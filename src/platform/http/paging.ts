import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import type { Type as Class } from '@nestjs/common';
import { WholeNumber } from './whole-number.js';

export const defaultLimit = 50;
export const maxLimit = 100;

/** The query of a list: how much, and from where. A list adds its own filters in a class that extends this one. */
export class PageQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: maxLimit, default: defaultLimit })
  @WholeNumber()
  @IsInt()
  @Min(1)
  @Max(maxLimit)
  limit: number = defaultLimit;

  @ApiPropertyOptional({ description: 'The `next` of the page before.', maxLength: 128 })
  @IsOptional()
  @IsString()
  @Length(1, 128)
  before?: string;

  @ApiPropertyOptional({ description: 'Reads on after this entry, oldest first.', maxLength: 128 })
  @IsOptional()
  @IsString()
  @Length(1, 128)
  after?: string;
}

/** `next` names the place where the next page begins; `null`: there is none. */
export type Page<T> = { readonly items: readonly T[]; readonly next: string | null };

/** One row more than asked for tells whether there is a next page: `select … limit ${query.limit + 1}`. */
export function pageOf<Row, T>(rows: readonly Row[], limit: number, view: (row: Row) => T, cursor: (row: Row) => string): Page<T> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { items: shown.map(view), next: rows.length > limit && last !== undefined ? cursor(last) : null };
}

/** The class that documents a page: `class ChatPage extends PageOf(ChatView) {}`. */
export function PageOf<T extends object>(Item: Class<T>): Class<Page<T>> {
  class PageView implements Page<T> {
    @ApiProperty({ type: [Item] }) items: T[];
    @ApiProperty({ type: String, nullable: true, description: 'Send it as `before` (or `after`) to get the next page. `null`: there is none.' }) next: string | null;
  }
  return PageView;
}
