import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsIn, IsInt, IsOptional, Matches, Max, Min, ValidateIf, ValidateNested } from 'class-validator';
import { connectionApis, connectionKinds, type ConnectionApi, type ConnectionKind, type ConnectionModel } from '@domain/models/connection.js';
import { Characters } from '@platform/http/characters.js';
import { PageOf, PageQuery } from '@platform/http/paging.js';
import { IsPublicId } from '@platform/http/public-id.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { ConnectionRow } from '../queries/connections.js';

const maxModels = 100;
/** What a header can carry. */
const printable = /^[\x21-\x7e]*$/;

export class ConnectionModelBody {
  @ApiProperty({ example: 'gpt-5.4', description: "The provider's name of the model.", minLength: 1, maxLength: 200 })
  @Characters(1, 200)
  id: string;

  @ApiPropertyOptional({ description: 'What people see. Without it, the id.', minLength: 1, maxLength: 100 })
  @ValidateIf((body: ConnectionModelBody) => body.name !== undefined)
  @Characters(1, 100)
  name?: string;

  @ApiPropertyOptional({ type: 'integer', nullable: true, minimum: 1, maximum: 100_000_000, description: 'Tokens that it reads at once. `null`: unknown.' })
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(100_000_000)
  contextWindow?: number | null;

  @ApiPropertyOptional({ type: [String], maxItems: 10, example: ['low', 'medium', 'high'] })
  @ValidateIf((body: ConnectionModelBody) => body.reasoningEfforts !== undefined)
  @IsArray()
  @ArrayMaxSize(10)
  @Characters(1, 32, { each: true })
  reasoningEfforts?: string[];
}

export const toConnectionModel = ({ id, name = id, contextWindow = null, reasoningEfforts = [] }: ConnectionModelBody): ConnectionModel => ({
  id,
  name,
  contextWindow,
  reasoningEfforts,
});

export class CreateConnectionBody {
  @ApiProperty({ enum: connectionKinds })
  @IsIn(connectionKinds)
  kind: ConnectionKind;

  @ApiProperty({ example: 'Our OpenAI account', minLength: 1, maxLength: 100 })
  @Characters(1, 100)
  name: string;

  @ApiPropertyOptional({ type: String, nullable: true, maxLength: 2000, example: 'https://llm.example.com/v1', description: "Where the server is. `null`: the vendor's own." })
  @IsOptional()
  @Characters(1, 2000)
  baseUrl?: string | null;

  @ApiPropertyOptional({ enum: connectionApis, nullable: true, description: 'OpenAI speaks Responses unless told otherwise, a compatible server chat completions.' })
  @IsOptional()
  @IsIn(connectionApis)
  api?: ConnectionApi | null;

  @ApiPropertyOptional({
    type: String,
    nullable: true,
    maxLength: 1000,
    writeOnly: true,
    description: 'Sealed at once and in no answer. Vendors need one, compatible servers may.',
  })
  @IsOptional()
  @Characters(1, 1000)
  @Matches(printable, { message: '$property must be printable ASCII without spaces' })
  apiKey?: string | null;

  @ApiProperty({ type: [ConnectionModelBody], minItems: 1, maxItems: maxModels })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(maxModels)
  @ValidateNested({ each: true })
  @Type(() => ConnectionModelBody)
  models: ConnectionModelBody[];
}

export class ChangeConnectionBody {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'The revision that you read.' })
  @IsInt()
  @Min(1)
  @Max(2_147_483_647)
  expected: number;

  @ApiPropertyOptional({ minLength: 1, maxLength: 100 })
  @ValidateIf((body: ChangeConnectionBody) => body.name !== undefined)
  @Characters(1, 100)
  name?: string;

  @ApiPropertyOptional({ type: String, nullable: true, maxLength: 2000, description: 'Another server needs the key again: the stored one is not sent to it.' })
  @IsOptional()
  @Characters(1, 2000)
  baseUrl?: string | null;

  @ApiPropertyOptional({ enum: connectionApis, nullable: true })
  @IsOptional()
  @IsIn(connectionApis)
  api?: ConnectionApi | null;

  @ApiPropertyOptional({ type: String, nullable: true, maxLength: 1000, writeOnly: true, description: '`null` forgets the key.' })
  @IsOptional()
  @Characters(1, 1000)
  @Matches(printable, { message: '$property must be printable ASCII without spaces' })
  apiKey?: string | null;

  @ApiPropertyOptional({ type: [ConnectionModelBody], minItems: 1, maxItems: maxModels })
  @ValidateIf((body: ChangeConnectionBody) => body.models !== undefined)
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(maxModels)
  @ValidateNested({ each: true })
  @Type(() => ConnectionModelBody)
  models?: ConnectionModelBody[];
}

export class ConnectionModelView {
  @ApiProperty() id: string;
  @ApiProperty() name: string;
  @ApiProperty({ type: 'integer', nullable: true }) contextWindow: number | null;
  @ApiProperty({ type: [String] }) reasoningEfforts: readonly string[];
}

export class ConnectionView {
  @ApiProperty({ example: 'conn_01k0w3j9v7e8t9q0c5m2x4z6b8', description: 'Also the `provider` of its models in a selection.' }) id: string;
  @ApiProperty({ enum: connectionKinds }) kind: ConnectionKind;
  @ApiProperty() name: string;
  @ApiProperty({ type: String, nullable: true }) baseUrl: string | null;
  @ApiProperty({ enum: connectionApis, nullable: true }) api: ConnectionApi | null;
  @ApiProperty({ description: 'Whether a key is stored. Nothing else is told of it.' }) hasKey: boolean;
  @ApiProperty({ type: [ConnectionModelView] }) models: readonly ConnectionModelView[];
  @ApiProperty({ type: 'integer' }) revision: number;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) createdAt: number;
  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch.' }) updatedAt: number;
}

export const toConnectionView = (row: ConnectionRow): ConnectionView => ({
  id: toPublicId('connection', row.id),
  kind: row.kind,
  name: row.name,
  baseUrl: row.base_url,
  api: row.api,
  hasKey: row.has_key,
  models: row.models,
  revision: row.revision,
  createdAt: row.created_at.getTime(),
  updatedAt: row.updated_at.getTime(),
});

export class ConnectionPage extends PageOf(ConnectionView) {}

export class ConnectionsQuery extends OmitType(PageQuery, ['before', 'after'] as const) {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsPublicId('connection')
  after?: string;
}
