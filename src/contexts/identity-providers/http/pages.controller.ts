import { Controller, Get, Header } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import { pagePolicy, styles } from '@platform/http/html.js';
import { ApiProblems } from '@platform/http/problem.js';
import { Permit } from '@platform/identity/identity.js';
import { signedInPage, signedInScript, signedOutPage, signInPage, signInScript } from './pages.js';

const text = { schema: { type: 'string' } } as const;
const htmlType = 'text/html; charset=utf-8';
const scriptType = 'text/javascript; charset=utf-8';

@ApiTags('Sign-in')
@Controller('auth')
export class PagesController {
  @Get('sign-in')
  @Permit('public')
  @Header('content-type', htmlType)
  @Header('content-security-policy', pagePolicy)
  @ApiOperation({ operationId: 'showSignIn', summary: 'The page on which people sign in', description: '`returnTo`: where to go afterwards. `organization`: to which.' })
  @ApiProduces('text/html')
  @ApiOkResponse({ description: 'The page.', ...text })
  @ApiProblems()
  showSignIn(): string {
    return signInPage;
  }

  @Get('signed-in')
  @Permit('public')
  @Header('content-type', htmlType)
  @Header('content-security-policy', pagePolicy)
  @ApiOperation({ operationId: 'showSignedIn', summary: 'The page that says who is signed in, and signs them out' })
  @ApiProduces('text/html')
  @ApiOkResponse({ description: 'The page.', ...text })
  @ApiProblems()
  showSignedIn(): string {
    return signedInPage;
  }

  @Get('signed-out')
  @Permit('public')
  @Header('content-type', htmlType)
  @Header('content-security-policy', pagePolicy)
  @ApiOperation({ operationId: 'showSignedOut', summary: 'The page after signing out' })
  @ApiProduces('text/html')
  @ApiOkResponse({ description: 'The page.', ...text })
  @ApiProblems()
  showSignedOut(): string {
    return signedOutPage;
  }

  @Get('sign-in.js')
  @Permit('public')
  @Header('content-type', scriptType)
  @ApiOperation({ operationId: 'loadSignInScript', summary: 'The script of the sign-in page' })
  @ApiProduces('text/javascript')
  @ApiOkResponse({ description: 'The script.', ...text })
  @ApiProblems()
  loadSignInScript(): string {
    return signInScript;
  }

  @Get('signed-in.js')
  @Permit('public')
  @Header('content-type', scriptType)
  @ApiOperation({ operationId: 'loadSignedInScript', summary: 'The script of the page that signs out' })
  @ApiProduces('text/javascript')
  @ApiOkResponse({ description: 'The script.', ...text })
  @ApiProblems()
  loadSignedInScript(): string {
    return signedInScript;
  }

  @Get('page.css')
  @Permit('public')
  @Header('content-type', 'text/css; charset=utf-8')
  @ApiOperation({ operationId: 'loadPageStyles', summary: 'The styles of these pages' })
  @ApiProduces('text/css')
  @ApiOkResponse({ description: 'The styles.', ...text })
  @ApiProblems()
  loadPageStyles(): string {
    return styles;
  }
}
