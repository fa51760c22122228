import { Body, Controller, Delete, Get, HttpCode, Post, Query } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { fail, ok } from '@domain/result.js';
import { read } from '@platform/database/transact.js';
import { pageOf } from '@platform/http/paging.js';
import { ApiProblems, respond } from '@platform/http/problem.js';
import { PublicId } from '@platform/http/public-id.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { ClaimDomainCommand } from '../commands/claim-domain.command.js';
import { ReleaseDomainCommand } from '../commands/release-domain.command.js';
import { VerifyDomainCommand } from '../commands/verify-domain.command.js';
import { findDomain, listDomains } from '../queries/domains.js';
import { ClaimDomainBody, DomainPage, DomainsQuery, DomainView, toDomainView } from './domains.dto.js';
import { claimDomainProblems, readDomainProblems, releaseDomainProblems, verifyDomainProblems } from './identity-providers.problems.js';

@ApiTags('Identity providers')
@Controller('v1/organization/domains')
export class DomainsController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
  ) {}

  @Post()
  @Permit('sso.manage')
  @ApiOperation({
    operationId: 'claimDomain',
    summary: 'Claim a domain for an identity provider',
    description: 'Owners only. It counts once its DNS says so: publish the record of the answer, then verify.',
  })
  @ApiCreatedResponse({ type: DomainView })
  @ApiProblems(claimDomainProblems)
  async claimDomain(@CurrentIdentity() identity: Identity, @Body() { domain, identityProvider }: ClaimDomainBody): Promise<DomainView> {
    const providerId = fromPublicId('identityProvider', identityProvider) ?? '';
    return toDomainView(respond(await this.commands.execute(new ClaimDomainCommand(identity, domain, providerId)), claimDomainProblems));
  }

  @Get()
  @Permit('sso.read')
  @ApiOperation({ operationId: 'listDomains', summary: 'List the domains of your organization, oldest first' })
  @ApiOkResponse({ type: DomainPage })
  @ApiProblems()
  async listDomains(@CurrentIdentity() { context }: Identity, @Query() query: DomainsQuery): Promise<DomainPage> {
    const page = { after: query.after === undefined ? null : fromPublicId('domain', query.after), limit: query.limit + 1 };
    const rows = await read(this.db, context, (tx) => listDomains(tx, page));
    return pageOf(rows, query.limit, toDomainView, ({ id }) => toPublicId('domain', id));
  }

  @Get(':domainId')
  @Permit('sso.read')
  @ApiOperation({ operationId: 'readDomain', summary: 'Read a domain' })
  @ApiParam({ name: 'domainId' })
  @ApiOkResponse({ type: DomainView })
  @ApiProblems(readDomainProblems)
  async readDomain(@CurrentIdentity() { context }: Identity, @PublicId('domainId', 'domain', readDomainProblems, 'DomainNotFound') id: string): Promise<DomainView> {
    const row = await read(this.db, context, (tx) => findDomain(tx, id));
    return toDomainView(respond(row ? ok(row) : fail({ _tag: 'DomainNotFound' as const }), readDomainProblems));
  }

  @Post(':domainId/verify')
  @HttpCode(200)
  @Permit('sso.manage')
  @ApiOperation({ operationId: 'verifyDomain', summary: 'Look whether the DNS of a domain says that it is yours', description: 'Owners only. Once it has, it stays so.' })
  @ApiParam({ name: 'domainId' })
  @ApiOkResponse({ type: DomainView })
  @ApiProblems(verifyDomainProblems)
  async verifyDomain(@CurrentIdentity() identity: Identity, @PublicId('domainId', 'domain', verifyDomainProblems, 'DomainNotFound') id: string): Promise<DomainView> {
    return toDomainView(respond(await this.commands.execute(new VerifyDomainCommand(identity, id)), verifyDomainProblems));
  }

  @Delete(':domainId')
  @HttpCode(204)
  @Permit('sso.manage')
  @ApiOperation({ operationId: 'releaseDomain', summary: 'Give a domain up', description: 'Owners only. Nobody new comes in by an address of it; whoever did, goes on.' })
  @ApiParam({ name: 'domainId' })
  @ApiNoContentResponse()
  @ApiProblems(releaseDomainProblems)
  async releaseDomain(@CurrentIdentity() identity: Identity, @PublicId('domainId', 'domain', releaseDomainProblems, 'DomainNotFound') id: string): Promise<void> {
    respond(await this.commands.execute(new ReleaseDomainCommand(identity, id)), releaseDomainProblems);
  }
}
