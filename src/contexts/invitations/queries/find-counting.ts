import type { QueryBus } from '@nestjs/cqrs';
import { MayAdmitQuery } from '@contexts/organizations/public/admit-member.command.js';
import type { ReadTx } from '@engine/tx.js';
import type { ParsedToken } from '@platform/identity/credential-text.js';
import { findByText, type Invitation } from './invitations.js';

/** The invitation that a text is for, if whoever made it may still give what it gives. */
export async function findCounting(tx: ReadTx, queries: QueryBus, text: ParsedToken): Promise<Invitation | null> {
  const found = await findByText(tx, text, '');
  return found && (await queries.execute(new MayAdmitQuery(found.invited_by, admissionOf(found), tx))) ? found : null;
}

export const admissionOf = ({ role, projects, password_sign_in }: Invitation) => ({ role, projects, passwordSignIn: password_sign_in });
