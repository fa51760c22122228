import { Controller, Get } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { FindMembersQuery } from '@contexts/organizations/public/member.queries.js';
import { ApiProblems } from '@platform/http/problem.js';
import { CurrentIdentity, Permit, type Identity } from '@platform/identity/identity.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { MeView } from './sign-in.dto.js';

const idKinds = { user_token: 'token', api_key: 'apiKey', session: 'session' } as const;

@ApiTags('Me')
@Controller('v1/me')
export class MeController {
  constructor(private readonly queries: QueryBus) {}

  @Get()
  @Permit('me.read')
  @ApiOperation({ operationId: 'readMe', summary: 'Read who you are' })
  @ApiOkResponse({ type: MeView })
  @ApiProblems()
  async readMe(@CurrentIdentity() { context, memberId, tokenId, credential, role }: Identity): Promise<MeView> {
    const [member] = await this.queries.execute(new FindMembersQuery(context, [memberId]));
    if (!member) throw new Error('the member of an identity is not there');
    return {
      id: toPublicId('member', memberId),
      name: member.name,
      email: member.email,
      role,
      organization: toPublicId('organization', context.organizationId),
      project: toPublicId('project', context.projectId),
      token: toPublicId(idKinds[credential], tokenId),
    };
  }
}
