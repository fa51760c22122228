import type { DataSource } from 'typeorm';
import { Lanes } from '@engine/lanes.js';
import { read } from '@platform/database/transact.js';
import { findCredentials, type AskedCredential, type CredentialRow } from './tokens.js';

type Lookup = AskedCredential & {
  readonly bytes: '';
  readonly organizationId: string;
  readonly answer: (rows: CredentialRow[]) => void;
  readonly fail: (error: unknown) => void;
};

/** Those of one organization, because a statement sees one tenant; each asked once, whoever asks. */
function grouped(lookups: readonly Lookup[]): readonly { readonly organizationId: string; readonly asked: readonly (readonly Lookup[])[] }[] {
  const organizations = new Map<string, Map<string, Lookup[]>>();
  for (const lookup of lookups) {
    const asked = organizations.get(lookup.organizationId) ?? new Map<string, Lookup[]>();
    const key = `${lookup.prefix} ${lookup.projectId}`;
    organizations.set(lookup.organizationId, asked.set(key, [...(asked.get(key) ?? []), lookup]));
  }
  return [...organizations].map(([organizationId, asked]) => ({ organizationId, asked: [...asked.values()] }));
}

/**
 * Looks up the credentials of requests that come at the same time together: what comes while a statement is under way is in the next. Nothing is
 * remembered: each request is answered by a read that began after it came. One alone waits for nobody.
 */
export class CredentialLookups {
  private readonly lanes = new Lanes<Lookup>((lookups) => this.ask(lookups));

  constructor(private readonly db: DataSource) {}

  /** The credentials with this public prefix, each in the project that is asked for. */
  find(organizationId: string, { prefix, projectId }: AskedCredential): Promise<CredentialRow[]> {
    return new Promise((answer, fail) => this.lanes.push({ bytes: '', organizationId, prefix, projectId, answer, fail }));
  }

  private async ask(lookups: readonly Lookup[]): Promise<void> {
    await Promise.all(
      grouped(lookups).map(async ({ organizationId, asked }) => {
        try {
          const first = asked.map(([lookup]) => lookup!);
          const rows = await read(this.db, { organizationId, projectId: null }, (tx) => findCredentials(tx, first));
          asked.forEach((same, index) => {
            const found = rows.filter(({ asked_as }) => asked_as === String(index + 1));
            for (const { answer } of same) answer(found);
          });
        } catch (error) {
          for (const { fail } of asked.flat()) fail(error);
        }
      }),
    );
  }
}
