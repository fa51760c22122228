import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsString, MaxLength, ValidateIf } from 'class-validator';
import { nameLimit } from '@domain/organizations/member.js';
import { longestPassword, shortestPassword } from '@domain/sign-in/password.js';
import { Characters } from '@platform/http/characters.js';
import { IsPublicId } from '@platform/http/public-id.js';

/** Characters: whatever is longer is no text of ours. */
export const longestLink = 100;

export class SignInBody {
  @ApiPropertyOptional({ example: 'org_01k0w3j9v7e8t9q0c5m2x4z6b8', description: 'Where there is only one organization, it may be left out.' })
  @ValidateIf((body: SignInBody) => body.organization !== undefined)
  @IsPublicId('organization')
  organization?: string;

  @ApiProperty({ example: 'ada@example.com', minLength: 1, maxLength: 254 })
  @Characters(1, 254)
  email: string;

  @ApiProperty({ minLength: 1, maxLength: longestPassword })
  @Characters(1, longestPassword)
  password: string;
}

export class SetUpBody {
  @ApiProperty({ maxLength: longestLink, description: 'What the link carries behind `#token=`.' })
  @IsString()
  @MaxLength(longestLink)
  token: string;

  @ApiProperty({ example: 'seven tall giraffes', minLength: shortestPassword, maxLength: longestPassword })
  @Characters(shortestPassword, longestPassword)
  password: string;

  @ApiPropertyOptional({ example: 'Ada', minLength: 1, maxLength: nameLimit, description: 'How you want to be called. Without it your name stays.' })
  @ValidateIf((body: SetUpBody) => body.name !== undefined)
  @Characters(1, nameLimit)
  name?: string;
}

export class ChangePasswordBody {
  @ApiProperty({ minLength: 1, maxLength: longestPassword })
  @Characters(1, longestPassword)
  current: string;

  @ApiProperty({ example: 'seven tall giraffes', minLength: shortestPassword, maxLength: longestPassword })
  @Characters(shortestPassword, longestPassword)
  new: string;
}

export class AllowPasswordBody {
  @ApiProperty({ description: '`false`: their password is gone, and their sessions end.' })
  @IsBoolean()
  allowed: boolean;
}

export class AllowedPasswordView {
  @ApiProperty() allowed: boolean;
  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Sets their first password, once and within an hour. It is shown this once: hand it over. `null`: they have one, or may not.',
  })
  link: string | null;
}
