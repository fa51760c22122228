import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AuthenticationGuard } from './authentication.guard.js';

/** Needs an `Authenticator` from a global module: sign-in provides it. */
@Module({ providers: [{ provide: APP_GUARD, useClass: AuthenticationGuard }] })
export class IdentityModule {}
