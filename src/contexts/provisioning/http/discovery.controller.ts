import { Controller, Get, Param } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { JsonObject } from '@domain/provisioning/attributes.js';
import { fail, ok } from '@domain/result.js';
import { respond } from '@platform/http/problem.js';
import { Permit } from '@platform/identity/identity.js';
import { ApiScim, listOf } from './scim.answers.js';
import { ApiScimProblems, scimProblems } from './scim.problems.js';
import { resourceTypes, schemas, serviceProviderConfig } from './scim.schemas.js';

const first = { startIndex: 1 };
const named = (all: readonly JsonObject[], id: string): JsonObject => {
  const found = all.find((each) => each['id'] === id);
  return respond(found ? ok(found) : fail({ _tag: 'ScimNotFound' as const }), scimProblems);
};

/** What this server can do of SCIM (RFC 7644, 4). */
@ApiTags('SCIM')
@Controller('scim/v2')
export class ScimDiscoveryController {
  @Get('ServiceProviderConfig')
  @Permit('directory')
  @ApiOperation({ operationId: 'readScimServiceProviderConfig', summary: 'Read what of SCIM this server can do' })
  @ApiScim(200, 'A ServiceProviderConfig.')
  @ApiScimProblems()
  readConfig(): JsonObject {
    return serviceProviderConfig;
  }

  @Get('ResourceTypes')
  @Permit('directory')
  @ApiOperation({ operationId: 'listScimResourceTypes', summary: 'List the kinds of resources' })
  @ApiScim(200, 'A ListResponse.')
  @ApiScimProblems()
  listResourceTypes(): JsonObject {
    return listOf(resourceTypes, resourceTypes.length, first);
  }

  @Get('ResourceTypes/:resourceType')
  @Permit('directory')
  @ApiOperation({ operationId: 'readScimResourceType', summary: 'Read a kind of resources' })
  @ApiParam({ name: 'resourceType' })
  @ApiScim(200, 'A ResourceType.')
  @ApiScimProblems('ScimNotFound')
  readResourceType(@Param('resourceType') id: string): JsonObject {
    return named(resourceTypes, id);
  }

  @Get('Schemas')
  @Permit('directory')
  @ApiOperation({ operationId: 'listScimSchemas', summary: 'List the schemas of resources' })
  @ApiScim(200, 'A ListResponse.')
  @ApiScimProblems()
  listSchemas(): JsonObject {
    return listOf(schemas, schemas.length, first);
  }

  @Get('Schemas/:schemaUri')
  @Permit('directory')
  @ApiOperation({ operationId: 'readScimSchema', summary: 'Read a schema' })
  @ApiParam({ name: 'schemaUri' })
  @ApiScim(200, 'A Schema.')
  @ApiScimProblems('ScimNotFound')
  readSchema(@Param('schemaUri') id: string): JsonObject {
    return named(schemas, id);
  }
}
