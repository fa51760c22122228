import { Controller, Get, Header } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import { ApiProblems } from '@platform/http/problem.js';
import { Permit } from '@platform/identity/identity.js';
import { linkPage, linkScript } from './link-page.js';

const rules = "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const text = { schema: { type: 'string' } } as const;

/** Where the links of invitations and first passwords lead. */
@ApiTags('Sign-in')
@Controller('auth')
export class LinkPageController {
  @Get('setup')
  @Permit('public')
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('content-security-policy', rules)
  @ApiOperation({ operationId: 'showSetup', summary: 'The page that sets a password' })
  @ApiProduces('text/html')
  @ApiOkResponse({ description: 'The page.', ...text })
  @ApiProblems()
  showSetup(): string {
    return linkPage;
  }

  @Get('invitation')
  @Permit('public')
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('content-security-policy', rules)
  @ApiOperation({ operationId: 'showInvitation', summary: 'The page that accepts an invitation' })
  @ApiProduces('text/html')
  @ApiOkResponse({ description: 'The page.', ...text })
  @ApiProblems()
  showInvitation(): string {
    return linkPage;
  }

  @Get('link.js')
  @Permit('public')
  @Header('content-type', 'text/javascript; charset=utf-8')
  @ApiOperation({ operationId: 'loadLinkScript', summary: 'The script of both pages' })
  @ApiProduces('text/javascript')
  @ApiOkResponse({ description: 'The script.', ...text })
  @ApiProblems()
  loadScript(): string {
    return linkScript;
  }
}
