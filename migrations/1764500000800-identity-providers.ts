import type { MigrationInterface, QueryRunner } from 'typeorm';
import { protectTable } from './protect-table.js';

/** Who vouches for people of an organization. Its secret is sealed for its row. */
const provider = [
  `create table identity_provider (
    organization_id uuid not null,
    id uuid not null,
    kind text not null constraint identity_provider_kind_is_known check (kind in ('oidc')),
    name text not null constraint identity_provider_name_is_short check (char_length(name) between 1 and 100),
    enabled boolean not null,
    settings jsonb not null,
    sealed_secret bytea,
    revision int not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    deleted_at timestamptz,
    constraint identity_provider_is_named_by_id primary key (organization_id, id),
    constraint identity_provider_forgets_its_secret check (deleted_at is null or sealed_secret is null)
  )`,
  `create unique index identity_provider_has_its_name on identity_provider (organization_id, lower(name)) where deleted_at is null`,
  ...protectTable('identity_provider', 'organization'),
];

/** A domain whose addresses the organization says are its own, and has shown to be once it is verified. Each organization shows it for itself. */
const domain = [
  `create table organization_domain (
    organization_id uuid not null,
    id uuid not null,
    domain text not null constraint organization_domain_is_lower_case check (domain = lower(domain) and char_length(domain) between 3 and 253),
    provider_id uuid not null,
    proof text not null,
    created_at timestamptz not null default clock_timestamp(),
    verified_at timestamptz,
    constraint organization_domain_is_named_by_id primary key (organization_id, id),
    constraint organization_domain_is_one_each unique (organization_id, domain),
    constraint organization_domain_has_its_provider foreign key (organization_id, provider_id) references identity_provider
  )`,
  `create index organization_domain_is_found_by_name on organization_domain (domain) where verified_at is not null`,
  `create index organization_domain_is_found_by_provider on organization_domain (organization_id, provider_id)`,
  ...protectTable('organization_domain', 'organization'),
];

/** Whom a provider means by a subject. It stays when the provider is switched off, so that nobody else gets the member. */
const identity = [
  `create table linked_identity (
    organization_id uuid not null,
    id uuid not null,
    provider_id uuid not null,
    subject text not null constraint linked_identity_subject_is_short check (char_length(subject) between 1 and 255),
    member_id uuid not null,
    created_at timestamptz not null default clock_timestamp(),
    last_used_at timestamptz not null default clock_timestamp(),
    constraint linked_identity_is_named_by_id primary key (organization_id, id),
    constraint linked_identity_is_one_subject unique (organization_id, provider_id, subject),
    constraint linked_identity_is_one_of_a_member unique (organization_id, provider_id, member_id),
    constraint linked_identity_has_its_provider foreign key (organization_id, provider_id) references identity_provider,
    constraint linked_identity_belongs_to_member foreign key (organization_id, member_id) references member
  )`,
  `create index linked_identity_is_found_by_member on linked_identity (organization_id, member_id)`,
  ...protectTable('linked_identity', 'organization'),
];

/** A way to a provider and back. Found by its state as a credential is; \`browser\` is the hash of what the browser that began it keeps. */
const attempt = [
  `create table sign_in_attempt (
    organization_id uuid not null,
    id uuid not null,
    provider_id uuid not null,
    prefix text not null,
    hash bytea not null constraint sign_in_attempt_hash_is_sha256 check (octet_length(hash) = 32),
    browser bytea not null constraint sign_in_attempt_browser_is_sha256 check (octet_length(browser) = 32),
    sealed bytea not null,
    return_to text not null constraint sign_in_attempt_returns_here check (return_to like '/%' and char_length(return_to) <= 2000),
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null,
    used_at timestamptz,
    constraint sign_in_attempt_is_named_by_id primary key (organization_id, id),
    constraint sign_in_attempt_goes_to_provider foreign key (organization_id, provider_id) references identity_provider
  )`,
  `create index sign_in_attempt_is_found_by_prefix on sign_in_attempt (organization_id, prefix)`,
  `create index sign_in_attempt_is_found_by_browser on sign_in_attempt (organization_id, browser, used_at)`,
  `create index sign_in_attempt_is_over on sign_in_attempt (organization_id, expires_at)`,
  `create index sign_in_attempt_is_found_by_provider on sign_in_attempt (organization_id, provider_id)`,
  ...protectTable('sign_in_attempt', 'organization'),
];

/** What a provider gave with a session: by what it is ended from there, and asked again. */
const session = [
  `create table provider_session (
    organization_id uuid not null,
    session_id uuid not null,
    identity_id uuid not null,
    provider_session text constraint provider_session_name_is_short check (char_length(provider_session) <= 500),
    sealed bytea not null,
    asked_at timestamptz not null default clock_timestamp(),
    ask_at timestamptz,
    constraint provider_session_is_of_one_session primary key (organization_id, session_id),
    constraint provider_session_is_a_session foreign key (organization_id, session_id) references credential,
    constraint provider_session_is_of_somebody foreign key (organization_id, identity_id) references linked_identity
  )`,
  `create index provider_session_is_found_by_identity on provider_session (organization_id, identity_id)`,
  `create index provider_session_is_asked on provider_session (ask_at) where ask_at is not null`,
  ...protectTable('provider_session', 'organization'),
];

/**
 * Who vouches for addresses of a domain. Nobody has said yet to which organization they belong: those are named that have shown the domain to be theirs,
 * and nothing else of any.
 */
const providersOfDomain = [
  ...['identity_provider', 'organization_domain'].map((table) => `create policy ${table}_engine on ${table} for select to openbot_engine using (true)`),
  `grant select (organization_id, id, name, enabled, deleted_at) on identity_provider to openbot_engine`,
  `grant select (organization_id, domain, provider_id, verified_at) on organization_domain to openbot_engine`,
  `create function providers_of_domain(p_domain text) returns table (organization_id uuid, organization_name text, provider_id uuid, provider_name text)
    language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select o.id, o.name, p.id, p.name from organization_domain d
      join identity_provider p on p.organization_id = d.organization_id and p.id = d.provider_id and p.enabled and p.deleted_at is null
      join organization o on o.id = d.organization_id
    where d.domain = p_domain and d.verified_at is not null order by d.verified_at, o.id limit 20
  $$`,
  `alter function providers_of_domain(text) owner to openbot_engine`,
  `revoke all on function providers_of_domain(text) from public`,
  `grant execute on function providers_of_domain(text) to openbot_app`,
];

/**
 * Sessions whose provider is to be asked whether they still count. Whoever gets one has \`p_ms\` for it; then another asks. Rows of all tenants, of which
 * nothing but their names is answered.
 */
const claimSessions = [
  `create policy provider_session_engine on provider_session to openbot_engine using (true) with check (true)`,
  `grant select (organization_id, session_id, ask_at), update (ask_at) on provider_session to openbot_engine`,
  `create function claim_provider_sessions(p_limit int, p_ms int) returns table (o_organization uuid, o_session uuid)
    language sql security definer set search_path = pg_catalog, public, pg_temp as $$
    update provider_session s set ask_at = clock_timestamp() + p_ms * interval '1 millisecond'
      from (select d.organization_id, d.session_id from provider_session d where d.ask_at <= clock_timestamp() order by d.ask_at limit p_limit for no key update skip locked) due
      where s.organization_id = due.organization_id and s.session_id = due.session_id returning s.organization_id, s.session_id
  $$`,
  `alter function claim_provider_sessions(int, int) owner to openbot_engine`,
  `revoke all on function claim_provider_sessions(int, int) from public`,
  `grant execute on function claim_provider_sessions(int, int) to openbot_worker`,
];

export class IdentityProviders1764500000800 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const sql of [...provider, ...domain, ...identity, ...attempt, ...session, ...providersOfDomain, ...claimSessions]) await q.query(sql);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`drop function claim_provider_sessions(int, int)`);
    await q.query(`drop function providers_of_domain(text)`);
    await q.query(`drop table provider_session, sign_in_attempt, linked_identity, organization_domain, identity_provider`);
  }
}
