import { Body, Controller, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiFoundResponse, ApiOkResponse, ApiOperation, ApiParam, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import { domainOf } from '@domain/identity-providers/domain-name.js';

import { Config } from '@platform/config/config.js';
import { read } from '@platform/database/transact.js';
import { pagePolicy } from '@platform/http/html.js';
import { ApiProblems } from '@platform/http/problem.js';
import { errorIdHeader } from '@platform/http/problem.filter.js';
import { parseToken } from '@platform/identity/credential-text.js';
import { isClosed } from '@platform/identity/development-organization.js';
import { Permit } from '@platform/identity/identity.js';
import { publicUrlOf } from '@platform/identity/public-url.js';
import { keepSession } from '@platform/identity/session-cookie.js';
import { visitorOf } from '@platform/identity/visitor.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { ErrorRecords } from '@platform/observability/error-records.js';
import { BeginSignInCommand } from '../commands/begin-sign-in.command.js';
import { FinishSignInCommand } from '../commands/finish-sign-in.command.js';
import { browserOf, markBrowser } from '../policies/browser.js';
import { returnTo } from '../policies/return-to.js';
import { failedPages, type SignInFailed } from '../policies/sign-in-failed.js';
import { findChoices, findProvidersOfDomain } from '../queries/providers.js';
import { failedPage } from './pages.js';
import { SignInOptionsBody, SignInOptionsView, startPath, StartQuery, toChoiceView } from './sign-in.dto.js';

const htmlType = 'text/html; charset=utf-8';
type Page = { readonly organizationId: string | null; readonly again: string };

@ApiTags('Sign-in')
@Controller('auth')
export class SignInController {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly config: Config,
    private readonly records: ErrorRecords,
  ) {}

  @Post('sign-in/options')
  @HttpCode(200)
  @Permit('public')
  @ApiOperation({
    operationId: 'listSignInOptions',
    summary: 'List by which identity providers somebody may sign in',
    description: 'By the domain of the address, or of the organization. Whether anybody has the address is not told.',
  })
  @ApiOkResponse({ type: SignInOptionsView })
  @ApiProblems()
  async listSignInOptions(@Body() { email, organization }: SignInOptionsBody): Promise<SignInOptionsView> {
    const organizationId = organization === undefined ? null : fromPublicId('organization', organization);
    const domain = domainOf(email);
    const rows =
      organizationId !== null ? await read(this.db, { organizationId, projectId: null }, findChoices) : domain === null ? [] : await findProvidersOfDomain(this.db.manager, domain);
    return { providers: rows.filter((row) => !isClosed(this.config, row.organization_id)).map(toChoiceView) };
  }

  @Get('sign-in/:organizationId/:providerId')
  @Permit('public')
  @ApiOperation({ operationId: 'startSignIn', summary: 'Send a browser to an identity provider' })
  @ApiParam({ name: 'organizationId' })
  @ApiParam({ name: 'providerId' })
  @ApiProduces('text/html')
  @ApiFoundResponse({ description: 'To the provider. Where it cannot be: a page that says why, with an error id.' })
  @ApiProblems()
  async startSignIn(
    @Param('organizationId') organization: string,
    @Param('providerId') provider: string,
    @Query() query: StartQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const place = returnTo(query.returnTo);
    const url = publicUrlOf(this.config, request.socket.localPort);
    const [organizationId, providerId] = [fromPublicId('organization', organization), fromPublicId('identityProvider', provider)];
    const page = { organizationId, again: `${startPath(organization, provider)}?${new URLSearchParams({ returnTo: place, again: '1' })}` };
    if (organizationId === null || providerId === null || url === null || isClosed(this.config, organizationId))
      return this.refuse(reply, { _tag: 'SignInFailed', reason: 'provider_missing' }, { organizationId: null, again: '/auth/sign-in' });
    const begun = await this.commands.execute(
      new BeginSignInCommand({
        organizationId,
        providerId,
        callbackUrl: callbackUrl(url, organization, provider),
        browser: markBrowser(request, reply),
        returnTo: place,
        address: query.email ?? null,
        again: query.again !== undefined,
      }),
    );
    if (!begun.ok) return this.refuse(reply, begun.failure, page);
    void reply.redirect(begun.value, 302);
  }

  @Get('oidc/:organizationId/:providerId/callback')
  @Permit('public')
  @ApiOperation({ operationId: 'finishOidcSignIn', summary: 'Where an OpenID Connect provider sends the browser back to' })
  @ApiParam({ name: 'organizationId' })
  @ApiParam({ name: 'providerId' })
  @ApiProduces('text/html')
  @ApiFoundResponse({ description: 'Signed in, to where the person wanted to go. Else a page that says why not, with an error id.' })
  @ApiProblems()
  async finishOidcSignIn(
    @Param('organizationId') organization: string,
    @Param('providerId') provider: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const url = publicUrlOf(this.config, request.socket.localPort);
    const providerId = fromPublicId('identityProvider', provider);
    const answer = new URL(request.url, 'http://here.invalid');
    const stateText = answer.searchParams.get('state') ?? '';
    const state = parseToken(stateText);
    const isOurs = state?.start === 'oba_' && toPublicId('organization', state.organizationId) === organization && !isClosed(this.config, state.organizationId);
    const page = { organizationId: isOurs ? state.organizationId : null, again: providerId === null ? '/auth/sign-in' : startPath(organization, provider) };
    if (!isOurs || providerId === null || url === null) return this.refuse(reply, { _tag: 'SignInFailed', reason: 'attempt_unknown' }, page);
    const came = { state, stateText, providerId, callbackUrl: callbackUrl(url, organization, provider), answer, browser: browserOf(request) };
    const finished = await this.commands.execute(new FinishSignInCommand(came, visitorOf(request)));
    if (!finished.ok) return this.refuse(reply, finished.failure, page);
    const { session, returnTo: place } = finished.value;
    keepSession(reply, session.secret, session.expiresAt);
    void reply.redirect(place, 302);
  }

  /** The id leads an operator to the cause; the page says what the person can do. */
  private refuse(reply: FastifyReply, failure: SignInFailed, { organizationId, again }: Page): void {
    const cause = new Error(`sign-in failed: ${failure.reason}`, { cause: failure.cause });
    const errorId = toPublicId('error', this.records.record(cause, { organizationId, category: 'sign_in_failed' }).errorId);
    void reply.header('content-security-policy', pagePolicy).header(errorIdHeader, errorId);
    void reply
      .code(failedPages[failure.reason].status)
      .type(htmlType)
      .send(failedPage(failure, errorId, again));
  }
}

/** What a provider has registered: it answers to no other address. */
export const callbackUrl = (publicUrl: string, organization: string, provider: string): string => `${publicUrl}/auth/oidc/${organization}/${provider}/callback`;
