import { ApiProperty } from '@nestjs/swagger';
import { Allow, IsInt, Max, Min } from 'class-validator';
import { todoLimits, todoStatuses, type Todo } from '@domain/chats/todos.js';

const largestRevision = 2_147_483_647;

export class TodoView implements Todo {
  @ApiProperty({ example: 'fix', minLength: 1, maxLength: todoLimits.idCharacters }) id: string;
  @ApiProperty({ example: 'Fix the login bug', minLength: 1, maxLength: todoLimits.contentCharacters }) content: string;
  @ApiProperty({ enum: todoStatuses, description: 'Only one entry can be `in_progress`.' }) status: Todo['status'];
}
export class TodosView {
  @ApiProperty({ type: [TodoView] }) items: TodoView[];
}
export class ReplaceTodosBody {
  @ApiProperty({ type: 'integer', minimum: 0, example: 7, description: 'The `chat.revision` that you read.' })
  @IsInt()
  @Min(0)
  @Max(largestRevision)
  revision: number;

  @ApiProperty({ type: [TodoView], maxItems: todoLimits.entries, description: 'The whole new list.' })
  @Allow()
  items: unknown;
}
