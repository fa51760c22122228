import { Injectable } from '@nestjs/common';
import { hash, parseOptions, verify } from '@node-rs/argon2';
import { fail, ok, type Result } from '@domain/result.js';
import type { SignInBusy } from '@domain/sign-in/sign-in.js';
import { FewAtOnce } from '@platform/identity/few-at-once.js';

/** argon2id as OWASP asks for at least: 19 MiB, two passes, one lane. Raise them, and hashes follow when their owners sign in. */
export const argon2id = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** What a password is compared with where there is none: the same work for the same answer. Of these parameters, and of a random text that was thrown away. */
export const nobodysHash = '$argon2id$v=19$m=19456,t=2,p=1$jubDGSWPKRnU+tvViGmnGw$MluD3DKRi8Uspr283scv8QgXLB/Vr85tuXElmGZA/Ks';

export const isWeaker = (stored: string): boolean => {
  const { algorithm, memoryCost, timeCost } = parseOptions(stored);
  return Number(algorithm) !== argon2id.algorithm || memoryCost < argon2id.memoryCost || timeCost < argon2id.timeCost;
};

const retryAfterMs = 2_000;

/** Each hash takes its memory and a thread of the process: two at once, and whoever finds a long queue comes again. */
@Injectable()
export class PasswordHasher {
  private readonly turns = new FewAtOnce(2, 32);

  /** Of a password in its normal form. */
  hash(password: string): Promise<Result<string, SignInBusy>> {
    return this.inTurn(() => hash(password, argon2id));
  }

  /** `null`: nobody has a password here, which takes as long as a wrong one. */
  verify(stored: string | null, password: string): Promise<Result<boolean, SignInBusy>> {
    return this.inTurn(async () => (await verify(stored ?? nobodysHash, password)) && stored !== null);
  }

  private async inTurn<T>(work: () => Promise<T>): Promise<Result<T, SignInBusy>> {
    return this.turns.isFull ? fail({ _tag: 'SignInBusy', retryAfterMs }) : ok(await this.turns.run(work));
  }
}
