import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsString, MaxLength, ValidateIf } from 'class-validator';
import { Characters } from '@platform/http/characters.js';
import { IsPublicId } from '@platform/http/public-id.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { Choice } from '../queries/providers.js';

export class SignInOptionsBody {
  @ApiProperty({ example: 'ada@example.com', minLength: 1, maxLength: 254 })
  @Characters(1, 254)
  email: string;

  @ApiPropertyOptional({ example: 'org_01k0w3j9v7e8t9q0c5m2x4z6b8', description: 'Where it is known to which one. Else the domain of the address says it.' })
  @ValidateIf((body: SignInOptionsBody) => body.organization !== undefined)
  @IsPublicId('organization')
  organization?: string;
}

export class SignInChoiceView {
  @ApiProperty({ example: 'idp_01k0w3j9v7e8t9q0c5m2x4z6b8' }) id: string;
  @ApiProperty() name: string;
  @ApiProperty({ example: 'org_01k0w3j9v7e8t9q0c5m2x4z6b8' }) organization: string;
  @ApiProperty() organizationName: string;
  @ApiProperty({ description: 'Where to send the browser, with `returnTo` and `email` as its query.' }) url: string;
}

export class SignInOptionsView {
  @ApiProperty({ type: [SignInChoiceView], description: 'Empty: by password, if at all.' }) providers: SignInChoiceView[];
}

export const startPath = (organization: string, provider: string): string => `/auth/sign-in/${organization}/${provider}`;

export function toChoiceView(row: Choice): SignInChoiceView {
  const [organization, id] = [toPublicId('organization', row.organization_id), toPublicId('identityProvider', row.provider_id)];
  return { id, name: row.provider_name, organization, organizationName: row.organization_name, url: startPath(organization, id) };
}

export class StartQuery {
  @ApiPropertyOptional({ description: 'A path of this server. What leads elsewhere is left out.' })
  @IsOptional()
  @IsString()
  @MaxLength(2_000)
  returnTo?: string;

  @ApiPropertyOptional({ description: 'The provider shows it already filled in.' })
  @IsOptional()
  @IsString()
  @MaxLength(254)
  email?: string;

  @ApiPropertyOptional({ description: 'Anything: the person asks for it once more, after going round in circles.' })
  @IsOptional()
  @IsString()
  @MaxLength(10)
  again?: string;
}
