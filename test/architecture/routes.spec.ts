import { Controller, Get, Param, Post } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { httpAdapter } from '@platform/http/adapter.js';
import { Permit } from '@platform/identity/identity.js';
import { openRealApp } from './real-app.js';
import { findBareRoutes, listRoutes } from './route-rules.js';

test('every route names its permission, operationId, summary, answers and errors', async () => {
  const { app, close } = await openRealApp();
  try {
    expect(findBareRoutes(app)).toEqual([]);
    expect(listRoutes(app).length).toBeGreaterThan(20);
  } finally {
    await close();
  }
});

describe('what is missing is found', () => {
  @Controller('planted')
  class PlantedController {
    @Get()
    bare(): string {
      return '';
    }

    @Post('hidden')
    @Permit('chats.write')
    @ApiExcludeEndpoint()
    hidden(): string {
      return '';
    }

    @Get(':id')
    @Permit('chats.read')
    @ApiTags('Planted')
    @ApiOperation({ operationId: 'readPlanted', summary: 'Read what is planted' })
    @ApiOkResponse({ type: String })
    read(@Param('id') id: string): string {
      return id;
    }
  }

  test('on planted routes', async () => {
    const module = await Test.createTestingModule({ controllers: [PlantedController] }).compile();
    const app = module.createNestApplication(httpAdapter(), { logger: false });
    try {
      expect(findBareRoutes(app).filter((finding) => !finding.includes('operationId'))).toEqual([
        'post /planted/hidden: is not in the document',
        'get /planted: has no permission',
        'get /planted: has no summary',
        'get /planted: has not one tag',
        'get /planted: answers 200 without a schema',
        'get /planted/{id}: does not say what is missing',
      ]);
      expect(findBareRoutes(app)).toContain('get /planted: has no operationId');
    } finally {
      await app.close();
    }
  });
});
