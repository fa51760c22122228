import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { v7 as uuidv7 } from 'uuid';
import type { CredentialKind } from '@domain/access/credentials.js';
import { auditActions } from '@domain/audit/actions.js';
import { toStoredDetail, type AuditActor, type AuditEvent } from '@domain/audit/entry.js';
import type { IdKind } from '@domain/ids.js';
import type { Identity } from '@platform/identity/identity.js';
import { RecordAuditCommand } from '../public/record-audit.command.js';

const credentialIds: Readonly<Record<CredentialKind, IdKind>> = { user_token: 'token', api_key: 'apiKey', session: 'session' };

@CommandHandler(RecordAuditCommand)
export class RecordAuditHandler implements ICommandHandler<RecordAuditCommand> {
  async execute({ tx, who, events }: RecordAuditCommand): Promise<void> {
    if (events.length === 0) return;
    const actor = actorColumns(who);
    await tx.query(
      `insert into audit_inbox (organization_id, project_id, id, action, outcome, actor_kind, member_id, credential_kind, credential_id, on_behalf_of, service, target_kind, target_id, address, detail)
       select tenant_organization(), case when e.in_project then coalesce(e.project_id, tenant_project()) end, e.id, e.action, e.outcome, e.actor_kind, e.member_id, e.credential_kind,
         e.credential_id, e.on_behalf_of, e.service, e.target_kind, e.target_id, e.address, e.detail
       from jsonb_to_recordset($1::jsonb) as e (in_project boolean, project_id uuid, id uuid, action text, outcome text, actor_kind text, member_id uuid, credential_kind text,
         credential_id uuid, on_behalf_of uuid, service text, target_kind text, target_id uuid, address text, detail jsonb)`,
      [JSON.stringify(events.map((event) => ({ ...actor, ...eventColumns(event) })))],
    );
  }
}

function eventColumns({ action, target, detail, outcome = 'done', projectId, id = uuidv7() }: AuditEvent): object {
  const rule = auditActions[action];
  const targets = target === null ? {} : { target_kind: rule.target, target_id: target };
  return { in_project: rule.chain === 'project', project_id: projectId, id, action, outcome, ...targets, detail: toStoredDetail(action, detail) };
}

function actorColumns(who: Identity | AuditActor): object {
  if ('context' in who) return memberColumns(who.memberId, { kind: who.credential, id: who.tokenId }, who.address ?? null);
  switch (who.kind) {
    case 'member':
      return memberColumns(who.memberId, who.credential, who.address);
    case 'service':
      return { actor_kind: who.kind, service: who.service, on_behalf_of: who.onBehalfOf };
    case 'operator':
      return { actor_kind: who.kind };
    case 'nobody':
      return { actor_kind: who.kind, address: who.address };
  }
}

const memberColumns = (memberId: string, credential: { readonly kind: CredentialKind; readonly id: string } | null, address: string | null): object => ({
  actor_kind: 'member',
  member_id: memberId,
  ...(credential && { credential_kind: credentialIds[credential.kind], credential_id: credential.id }),
  address,
});
