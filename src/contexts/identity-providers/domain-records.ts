import { Resolver } from 'node:dns/promises';
import { Injectable } from '@nestjs/common';
import { Config } from '@platform/config/config.js';

/** Answers of DNS that say that there is nothing, which is an answer. */
const nothing = new Set(['ENOTFOUND', 'ENODATA']);
const [timeout, tries] = [3_000, 2];

/** What the DNS says of a name. It is asked for the records themselves: no cache of this process stands between. */
@Injectable()
export class DomainRecords {
  private readonly resolver = new Resolver({ timeout, tries });

  constructor({ dnsServers }: Config) {
    if (dnsServers.length > 0) this.resolver.setServers([...dnsServers]);
  }

  /** The TXT records, each in one piece; `null`: nobody answered. */
  async findTexts(name: string): Promise<readonly string[] | null> {
    try {
      return (await this.resolver.resolveTxt(name)).map((pieces) => pieces.join(''));
    } catch (error) {
      return nothing.has(String((error as { code?: unknown }).code)) ? [] : null;
    }
  }
}
