import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RequestLimiter } from '@platform/limits/request-limiter.js';
import { AuthenticationGuard } from './authentication.guard.js';

/** Needs an `Authenticator` and a `DirectoryAuthenticator` from global modules: sign-in and provisioning provide them. */
@Module({ providers: [RequestLimiter, { provide: APP_GUARD, useClass: AuthenticationGuard }] })
export class IdentityModule {}
