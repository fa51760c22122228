import { Controller, Get } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ApiProblems } from '@platform/http/problem.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { DefaultModelQuery } from '../public/default-model.query.js';
import { ListModelsQuery } from '../public/list-models.query.js';
import { ModelsView } from './models.dto.js';

@ApiTags('Models')
@Controller('v1/models')
export class ModelsController {
  constructor(private readonly queries: QueryBus) {}

  @Get()
  @Permit('models.read')
  @ApiOperation({ operationId: 'listModels', summary: 'List the models that you can choose' })
  @ApiOkResponse({ type: ModelsView })
  @ApiProblems()
  async listModels(@CurrentIdentity() { context }: Identity): Promise<ModelsView> {
    const [selected, catalog] = await Promise.all([this.queries.execute(new DefaultModelQuery()), this.queries.execute(new ListModelsQuery(context))]);
    return { selected, ...catalog };
  }
}
