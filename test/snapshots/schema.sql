role openbot_api login
  member of openbot_app
  set idle_in_transaction_session_timeout=30s
  set jit=off
  set lock_timeout=5s
  set statement_timeout=30s;

role openbot_app;

role openbot_engine;

role openbot_owner
  member of openbot_engine;

role openbot_worker login
  member of openbot_app
  set idle_in_transaction_session_timeout=30s
  set jit=off
  set lock_timeout=5s
  set statement_timeout=30s;

parameter app.organization;
grant set to openbot_owner;

parameter app.project;
grant set to openbot_owner;

schema public owner openbot_owner;
grant usage to openbot_app;
grant create, usage to openbot_engine;
grant usage to public;

type commit_item as (id uuid, g integer, owner text, epoch bigint, claim uuid, n integer, from jsonb, to text, do text, events jsonb, cursor jsonb, seen integer, cancel integer, until timestamp with time zone, calls jsonb, consume jsonb, feature text, aggregate uuid, rows jsonb, children jsonb, parent uuid, notice text, ending text, version integer, category text, error uuid, idle boolean, human boolean, expired boolean);

sequence audit_inbox_number_seq as bigint increment 1 start 1 owner openbot_owner;

sequence product_event_inbox_id_seq as bigint increment 1 start 1 owner openbot_owner;

sequence schema_migration_id_seq as integer increment 1 start 1 owner openbot_owner;

table account owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  member_id uuid not null comment NULL
  break_glass boolean not null default false comment NULL
  password_hash text comment NULL
  password_set_at timestamp with time zone comment NULL
  link_prefix text comment NULL
  link_hash bytea comment NULL
  link_until timestamp with time zone comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
constraint account_belongs_to_member FOREIGN KEY (organization_id, member_id) REFERENCES member(organization_id, id)
constraint account_is_one_each PRIMARY KEY (organization_id, member_id)
constraint account_link_hash_is_sha256 CHECK (octet_length(link_hash) = 32)
constraint account_link_is_whole CHECK (num_nulls(link_prefix, link_hash, link_until) = ANY (ARRAY[0, 3]))
constraint account_only_break_glass_has_a_password CHECK (break_glass OR num_nonnulls(password_hash, link_hash) = 0)
constraint account_password_has_its_time CHECK (num_nulls(password_hash, password_set_at) = ANY (ARRAY[0, 2]))
constraint account_password_is_argon2id CHECK (password_hash ~~ '$argon2id$%'::text)
INDEX account_is_found_by_link ON public.account USING btree (organization_id, link_prefix) WHERE (link_prefix IS NOT NULL)
policy account_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table audit_entry owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  project_id uuid comment NULL
  chain_id uuid not null generated always as (COALESCE(project_id, organization_id)) comment NULL
  id uuid not null comment NULL
  at timestamp with time zone not null default date_trunc('milliseconds'::text, clock_timestamp()) comment NULL
  action text not null comment NULL
  outcome text not null comment NULL
  actor_kind text not null comment NULL
  member_id uuid comment NULL
  credential_kind text comment NULL
  credential_id uuid comment NULL
  on_behalf_of uuid comment NULL
  service text comment NULL
  target_kind text comment NULL
  target_id uuid comment NULL
  address text comment NULL
  detail jsonb not null default '{}'::jsonb comment NULL
  sequence bigint not null comment NULL
  hash bytea not null comment NULL
constraint audit_entry_actor_is_whole CHECK (
CASE actor_kind
    WHEN 'member'::text THEN member_id IS NOT NULL AND service IS NULL
    WHEN 'service'::text THEN service IS NOT NULL AND member_id IS NULL
    WHEN 'operator'::text THEN num_nonnulls(member_id, service) = 0
    WHEN 'nobody'::text THEN num_nonnulls(member_id, service) = 0
    ELSE false
END)
constraint audit_entry_belongs_to_organization FOREIGN KEY (organization_id) REFERENCES organization(id)
constraint audit_entry_credential_is_whole CHECK (num_nulls(credential_kind, credential_id) = ANY (ARRAY[0, 2]))
constraint audit_entry_detail_is_scalars CHECK (jsonb_typeof(detail) = 'object'::text AND NOT jsonb_path_exists(detail, '$.*?(@.type() == "object" || @.type() == "array")'::jsonpath))
constraint audit_entry_has_place PRIMARY KEY (organization_id, chain_id, sequence)
constraint audit_entry_hash_is_sha256 CHECK (octet_length(hash) = 32)
constraint audit_entry_is_in_project FOREIGN KEY (organization_id, project_id) REFERENCES project(organization_id, id)
constraint audit_entry_is_there_once UNIQUE (organization_id, id)
constraint audit_entry_outcome_is_known CHECK (outcome = ANY (ARRAY['done'::text, 'refused'::text]))
constraint audit_entry_target_is_whole CHECK (num_nulls(target_kind, target_id) = ANY (ARRAY[0, 2]))
constraint audit_entry_texts_are_short CHECK (octet_length(concat_ws(''::text, action, credential_kind, service, target_kind, address)) <= 400 AND octet_length(detail::text) <= 4000)
INDEX audit_entry_is_found_by_member ON public.audit_entry USING btree (organization_id, chain_id, member_id, sequence) WHERE (member_id IS NOT NULL)
INDEX audit_entry_is_found_by_target ON public.audit_entry USING btree (organization_id, chain_id, target_id, sequence) WHERE (target_id IS NOT NULL)
policy audit_entry_engine permissive for all to openbot_engine
  using true
  with check true
policy audit_entry_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
TRIGGER audit_entry_is_not_emptied BEFORE TRUNCATE ON audit_entry FOR EACH STATEMENT EXECUTE FUNCTION keep_audit()
TRIGGER audit_entry_stays BEFORE DELETE OR UPDATE ON audit_entry FOR EACH ROW EXECUTE FUNCTION keep_audit()
grant select to openbot_app;
grant delete, insert, select to openbot_engine;

table audit_head owner openbot_owner row security forced with (fillfactor=70)
  organization_id uuid not null comment NULL
  project_id uuid comment NULL
  chain_id uuid not null generated always as (COALESCE(project_id, organization_id)) comment NULL
  length bigint not null default 0 comment NULL
  hash bytea not null default decode(repeat('00'::text, 32), 'hex'::text) comment NULL
constraint audit_head_counts CHECK (length >= 0)
constraint audit_head_hash_is_sha256 CHECK (octet_length(hash) = 32)
constraint audit_head_is_in_project FOREIGN KEY (organization_id, project_id) REFERENCES project(organization_id, id)
constraint audit_head_is_one_each PRIMARY KEY (organization_id, chain_id)
policy audit_head_engine permissive for all to openbot_engine
  using true
  with check true
policy audit_head_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant select to openbot_app;
grant delete, insert, select, update to openbot_engine;

table audit_inbox owner openbot_owner row security forced with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000)
  number bigint not null generated always as identity comment NULL
  organization_id uuid not null comment NULL
  project_id uuid comment NULL
  chain_id uuid generated always as (COALESCE(project_id, organization_id)) comment NULL
  id uuid not null comment NULL
  at timestamp with time zone not null default date_trunc('milliseconds'::text, clock_timestamp()) comment NULL
  action text not null comment NULL
  outcome text not null comment NULL
  actor_kind text not null comment NULL
  member_id uuid comment NULL
  credential_kind text comment NULL
  credential_id uuid comment NULL
  on_behalf_of uuid comment NULL
  service text comment NULL
  target_kind text comment NULL
  target_id uuid comment NULL
  address text comment NULL
  detail jsonb not null default '{}'::jsonb comment NULL
constraint audit_inbox_actor_is_whole CHECK (
CASE actor_kind
    WHEN 'member'::text THEN member_id IS NOT NULL AND service IS NULL
    WHEN 'service'::text THEN service IS NOT NULL AND member_id IS NULL
    WHEN 'operator'::text THEN num_nonnulls(member_id, service) = 0
    WHEN 'nobody'::text THEN num_nonnulls(member_id, service) = 0
    ELSE false
END)
constraint audit_inbox_belongs_to_organization FOREIGN KEY (organization_id) REFERENCES organization(id)
constraint audit_inbox_credential_is_whole CHECK (num_nulls(credential_kind, credential_id) = ANY (ARRAY[0, 2]))
constraint audit_inbox_detail_is_scalars CHECK (jsonb_typeof(detail) = 'object'::text AND NOT jsonb_path_exists(detail, '$.*?(@.type() == "object" || @.type() == "array")'::jsonpath))
constraint audit_inbox_is_in_project FOREIGN KEY (organization_id, project_id) REFERENCES project(organization_id, id)
constraint audit_inbox_outcome_is_known CHECK (outcome = ANY (ARRAY['done'::text, 'refused'::text]))
constraint audit_inbox_pkey PRIMARY KEY (number)
constraint audit_inbox_target_is_whole CHECK (num_nulls(target_kind, target_id) = ANY (ARRAY[0, 2]))
constraint audit_inbox_texts_are_short CHECK (octet_length(concat_ws(''::text, action, credential_kind, service, target_kind, address)) <= 400 AND octet_length(detail::text) <= 4000)
INDEX audit_inbox_is_linked_by_chain ON public.audit_inbox USING btree (organization_id, chain_id, number)
policy audit_inbox_engine permissive for all to openbot_engine
  using true
  with check true
policy audit_inbox_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant insert, select to openbot_app;
grant delete, insert, select to openbot_engine;

table bot owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  project_id uuid not null comment NULL
  id uuid not null comment NULL
  owner_id uuid not null comment NULL
  name text not null comment NULL
  instructions bytea comment NULL
  model jsonb comment NULL
  model_follows_environment boolean not null default false comment NULL
  max_steps integer not null comment NULL
  revision integer not null default 1 comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
  updated_at timestamp with time zone not null default clock_timestamp() comment NULL
  deleted_at timestamp with time zone comment NULL
constraint bot_belongs_to_project FOREIGN KEY (organization_id, project_id) REFERENCES project(organization_id, id)
constraint bot_deleted_has_no_instructions CHECK (deleted_at IS NULL OR instructions IS NULL)
constraint bot_has_owner FOREIGN KEY (organization_id, owner_id) REFERENCES member(organization_id, id)
constraint bot_is_named_by_id PRIMARY KEY (organization_id, project_id, id)
constraint bot_max_steps_is_bounded CHECK (max_steps >= 1 AND max_steps <= 200)
constraint bot_model_is_selection CHECK (model ?& ARRAY['provider'::text, 'model'::text])
constraint bot_name_is_short CHECK (char_length(name) >= 1 AND char_length(name) <= 100)
constraint bot_revision_counts CHECK (revision >= 1)
INDEX bot_is_listed_by_age ON public.bot USING btree (organization_id, project_id, created_at, id) WHERE (deleted_at IS NULL)
policy bot_tenant permissive for all to openbot_app
  using ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
  with check ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
grant delete, insert, select, update to openbot_app;

table bot_grant owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  project_id uuid not null comment NULL
  bot_id uuid not null comment NULL
  member_id uuid not null comment NULL
  rights text[] not null comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
constraint bot_grant_is_for_member FOREIGN KEY (organization_id, member_id) REFERENCES member(organization_id, id)
constraint bot_grant_is_one_each PRIMARY KEY (organization_id, project_id, bot_id, member_id)
constraint bot_grant_opens_bot FOREIGN KEY (organization_id, project_id, bot_id) REFERENCES bot(organization_id, project_id, id) ON DELETE CASCADE
constraint bot_grant_rights_are_known CHECK (cardinality(rights) > 0 AND rights <@ ARRAY['read'::text, 'delegate'::text, 'change'::text])
INDEX bot_grant_is_found_by_member ON public.bot_grant USING btree (organization_id, project_id, member_id, bot_id)
policy bot_grant_tenant permissive for all to openbot_app
  using ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
  with check ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
grant delete, insert, select, update to openbot_app;

table call_limit owner openbot_owner row security forced with (fillfactor=50)
  organization_id uuid not null comment NULL
  name text not null comment NULL
  size integer not null comment NULL
  next_number bigint not null default 1 comment NULL
constraint call_limit_lets_some_through CHECK (size > 0)
constraint call_limit_pkey PRIMARY KEY (organization_id, name)
policy call_limit_engine permissive for all to openbot_engine
  using true
  with check true
policy call_limit_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;
grant select, update to openbot_engine;

table chat owner openbot_owner row security forced with (fillfactor=70)
  id uuid not null comment NULL
  organization_id uuid not null comment NULL
  project_id uuid not null comment NULL
  kind text not null comment NULL
  bot_id uuid not null comment NULL
  owner_id uuid not null comment NULL
  revision integer not null default 0 comment NULL
  item_count integer not null default 0 comment NULL
  input_count integer not null default 0 comment NULL
  turn_count integer not null default 0 comment NULL
  running_turn_id uuid comment NULL
  mode text not null default 'build'::text comment NULL
  model jsonb comment NULL
  todos bytea comment NULL
  todos_open integer not null default 0 comment NULL
  todos_version integer not null default 0 comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
  deleted_at timestamp with time zone comment NULL
constraint chat_belongs_to_tenant UNIQUE (organization_id, project_id, id)
constraint chat_deleted_is_still CHECK (deleted_at IS NULL OR running_turn_id IS NULL)
constraint chat_has_owner FOREIGN KEY (organization_id, owner_id) REFERENCES member(organization_id, id)
constraint chat_is_named_by_id PRIMARY KEY (id)
constraint chat_is_with_bot FOREIGN KEY (organization_id, project_id, bot_id) REFERENCES bot(organization_id, project_id, id)
constraint chat_kind_is_known CHECK (kind = ANY (ARRAY['direct'::text, 'channel'::text, 'task'::text, 'review'::text, 'live'::text]))
constraint chat_mode_is_known CHECK (mode = ANY (ARRAY['build'::text, 'plan'::text]))
constraint chat_open_todos_are_listed CHECK (todos_open = 0 OR todos IS NOT NULL)
UNIQUE INDEX chat_direct_is_one_each ON public.chat USING btree (organization_id, project_id, bot_id, owner_id) WHERE ((kind = 'direct'::text) AND (deleted_at IS NULL))
INDEX chat_is_listed_by_age ON public.chat USING btree (organization_id, project_id, owner_id, created_at, id) WHERE (deleted_at IS NULL)
policy chat_engine permissive for all to openbot_engine
  using true
  with check true
policy chat_tenant permissive for all to openbot_app
  using ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
  with check ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
grant delete, insert, select, update to openbot_app;
grant select, update to openbot_engine;

table chat_input owner openbot_owner row security forced
  id uuid not null comment NULL
  organization_id uuid not null comment NULL
  project_id uuid not null comment NULL
  chat_id uuid not null comment NULL
  number integer not null comment NULL
  turn_id uuid not null comment NULL
  queue boolean not null comment NULL
  body bytea not null comment NULL
  taken_step integer comment NULL
  taken_at timestamp with time zone comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
constraint chat_input_belongs_to_chat FOREIGN KEY (organization_id, project_id, chat_id) REFERENCES chat(organization_id, project_id, id)
constraint chat_input_is_named_by_id PRIMARY KEY (id)
constraint chat_input_is_numbered UNIQUE (chat_id, number)
constraint chat_input_step_is_taken CHECK (taken_step IS NULL OR taken_at IS NOT NULL)
INDEX chat_input_waits ON public.chat_input USING btree (turn_id, number) WHERE (taken_at IS NULL)
policy chat_input_tenant permissive for all to openbot_app
  using ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
  with check ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
grant delete, insert, select, update to openbot_app;

table chat_item owner openbot_owner row security forced
  chat_id uuid not null comment NULL
  seq integer not null comment NULL
  id uuid not null comment NULL
  organization_id uuid not null comment NULL
  project_id uuid not null comment NULL
  turn_id uuid not null comment NULL
  step integer not null comment NULL
  input_id uuid comment NULL
  content bytea not null comment NULL
  notice_kind text comment NULL
  notice_ref text comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
constraint chat_item_belongs_to_chat FOREIGN KEY (organization_id, project_id, chat_id) REFERENCES chat(organization_id, project_id, id)
constraint chat_item_has_place PRIMARY KEY (chat_id, seq)
constraint chat_item_is_named_by_id UNIQUE (id)
constraint chat_item_ref_is_of_notice CHECK (notice_ref IS NULL OR notice_kind IS NOT NULL)
policy chat_item_tenant permissive for all to openbot_app
  using ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
  with check ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
grant delete, insert, select, update to openbot_app;

table chat_turn owner openbot_owner row security forced with (fillfactor=70)
  id uuid not null comment NULL
  organization_id uuid not null comment NULL
  project_id uuid not null comment NULL
  chat_id uuid not null comment NULL
  number integer comment NULL
  execution_id uuid not null comment NULL
  author_member_id uuid not null comment NULL
  author_token_id uuid not null comment NULL
  state text not null default 'queued'::text comment NULL
  settings jsonb not null comment NULL
  steps integer not null default 0 comment NULL
  usage jsonb comment NULL
  first_seq integer not null default 0 comment NULL
  item_count integer not null default 0 comment NULL
  interrupt_ids uuid[] not null default '{}'::uuid[] comment NULL
  failure_category text comment NULL
  error_id uuid comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
  started_at timestamp with time zone comment NULL
  completed_at timestamp with time zone comment NULL
constraint chat_turn_belongs_to_chat FOREIGN KEY (organization_id, project_id, chat_id) REFERENCES chat(organization_id, project_id, id)
constraint chat_turn_end_is_marked CHECK ((completed_at IS NOT NULL) = (state = ANY (ARRAY['completed'::text, 'failed'::text, 'interrupted'::text])))
constraint chat_turn_failure_is_whole CHECK ((failure_category IS NULL) = (error_id IS NULL))
constraint chat_turn_is_named_by_id PRIMARY KEY (id)
constraint chat_turn_state_is_known CHECK (state = ANY (ARRAY['queued'::text, 'running'::text, 'completed'::text, 'failed'::text, 'interrupted'::text]))
constraint chat_turn_that_ran_is_numbered CHECK (state = 'queued'::text OR number IS NOT NULL)
UNIQUE INDEX chat_turn_is_numbered ON public.chat_turn USING btree (chat_id, number)
INDEX chat_turn_waits ON public.chat_turn USING btree (chat_id) WHERE (state = 'queued'::text)
policy chat_turn_tenant permissive for all to openbot_app
  using ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
  with check ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
grant delete, insert, select, update to openbot_app;

table credential owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  id uuid not null comment NULL
  kind text not null comment NULL
  member_id uuid comment NULL
  created_by uuid not null comment NULL
  name text not null comment NULL
  scopes text[] comment NULL
  projects uuid[] comment NULL
  prefix text not null comment NULL
  hash bytea not null comment NULL
  old_prefix text comment NULL
  old_hash bytea comment NULL
  old_until timestamp with time zone comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
  rotated_at timestamp with time zone comment NULL
  expires_at timestamp with time zone comment NULL
  last_used_at timestamp with time zone comment NULL
  revoked_at timestamp with time zone comment NULL
  idle_until timestamp with time zone comment NULL
  user_agent text comment NULL
  address text comment NULL
  made_with uuid comment NULL
constraint credential_address_is_short CHECK (char_length(address) <= 64)
constraint credential_belongs_to_member FOREIGN KEY (organization_id, member_id) REFERENCES member(organization_id, id)
constraint credential_has_its_maker FOREIGN KEY (organization_id, created_by) REFERENCES member(organization_id, id)
constraint credential_has_its_member CHECK ((member_id IS NULL) = (kind = 'api_key'::text))
constraint credential_hash_is_sha256 CHECK (octet_length(hash) = 32)
constraint credential_idles_if_it_is_a_session CHECK ((kind = 'session'::text) = (idle_until IS NOT NULL))
constraint credential_is_named_by_id PRIMARY KEY (organization_id, id)
constraint credential_is_not_made_with_itself CHECK (made_with <> id)
constraint credential_kind_is_known CHECK (kind = ANY (ARRAY['user_token'::text, 'api_key'::text, 'session'::text]))
constraint credential_name_is_short CHECK (char_length(name) >= 1 AND char_length(name) <= 100)
constraint credential_old_hash_is_sha256 CHECK (octet_length(old_hash) = 32)
constraint credential_old_secret_is_whole CHECK (num_nulls(old_prefix, old_hash, old_until) = ANY (ARRAY[0, 3]))
constraint credential_session_ends CHECK (kind <> 'session'::text OR expires_at IS NOT NULL)
constraint credential_session_is_made_with_none CHECK (made_with IS NULL OR kind <> 'session'::text)
constraint credential_user_agent_is_short CHECK (char_length(user_agent) <= 300)
constraint credential_was_made_with_another FOREIGN KEY (organization_id, made_with) REFERENCES credential(organization_id, id) ON DELETE SET NULL (made_with)
INDEX credential_is_found_by_maker ON public.credential USING btree (organization_id, created_by)
INDEX credential_is_found_by_old_prefix ON public.credential USING btree (organization_id, old_prefix) WHERE (old_prefix IS NOT NULL)
INDEX credential_is_found_by_prefix ON public.credential USING btree (organization_id, prefix)
INDEX credential_is_found_by_what_made_it ON public.credential USING btree (organization_id, made_with) WHERE (made_with IS NOT NULL)
INDEX credential_is_listed_by_member ON public.credential USING btree (organization_id, member_id, created_at, id)
policy credential_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table directory_group owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  id uuid not null comment NULL
  provider_id uuid not null comment NULL
  display_name text not null comment NULL
  external_id text comment NULL
  revision integer not null default 1 comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
  updated_at timestamp with time zone not null default clock_timestamp() comment NULL
constraint directory_group_external_id_is_short CHECK (char_length(external_id) <= 256)
constraint directory_group_is_named_by_id PRIMARY KEY (organization_id, id)
constraint directory_group_is_of_provider FOREIGN KEY (organization_id, provider_id) REFERENCES identity_provider(organization_id, id)
constraint directory_group_name_is_short CHECK (char_length(display_name) >= 1 AND char_length(display_name) <= 256)
INDEX directory_group_is_found_by_external_id ON public.directory_group USING btree (organization_id, provider_id, external_id)
INDEX directory_group_is_found_by_name ON public.directory_group USING btree (organization_id, provider_id, lower(display_name))
INDEX directory_group_is_listed_by_age ON public.directory_group USING btree (organization_id, provider_id, id)
policy directory_group_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table directory_membership owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  group_id uuid not null comment NULL
  user_id uuid not null comment NULL
constraint directory_membership_is_in_group FOREIGN KEY (organization_id, group_id) REFERENCES directory_group(organization_id, id) ON DELETE CASCADE
constraint directory_membership_is_of_user FOREIGN KEY (organization_id, user_id) REFERENCES directory_user(organization_id, id) ON DELETE CASCADE
constraint directory_membership_is_one_each PRIMARY KEY (organization_id, group_id, user_id)
INDEX directory_membership_is_found_by_user ON public.directory_membership USING btree (organization_id, user_id)
policy directory_membership_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table directory_user owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  id uuid not null comment NULL
  provider_id uuid not null comment NULL
  member_id uuid not null comment NULL
  user_name text not null comment NULL
  external_id text comment NULL
  display_name text comment NULL
  emails text[] not null comment NULL
  active boolean not null comment NULL
  in_groups boolean not null comment NULL
  resource jsonb not null comment NULL
  revision integer not null default 1 comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
  updated_at timestamp with time zone not null default clock_timestamp() comment NULL
constraint directory_user_display_name_is_short CHECK (char_length(display_name) <= 256)
constraint directory_user_external_id_is_short CHECK (char_length(external_id) <= 256)
constraint directory_user_is_a_member FOREIGN KEY (organization_id, member_id) REFERENCES member(organization_id, id)
constraint directory_user_is_named_by_id PRIMARY KEY (organization_id, id)
constraint directory_user_is_of_provider FOREIGN KEY (organization_id, provider_id) REFERENCES identity_provider(organization_id, id)
constraint directory_user_is_one_of_a_member UNIQUE (organization_id, member_id)
constraint directory_user_name_is_short CHECK (char_length(user_name) >= 1 AND char_length(user_name) <= 256)
INDEX directory_user_is_found_by_address ON public.directory_user USING gin (emails)
INDEX directory_user_is_found_by_external_id ON public.directory_user USING btree (organization_id, provider_id, external_id)
INDEX directory_user_is_listed_by_age ON public.directory_user USING btree (organization_id, provider_id, id)
UNIQUE INDEX directory_user_name_is_taken_once ON public.directory_user USING btree (organization_id, provider_id, lower(user_name))
policy directory_user_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table error_record owner openbot_owner row security forced
  id uuid not null comment NULL
  organization_id uuid comment NULL
  project_id uuid comment NULL
  execution_id uuid comment NULL
  category text not null comment NULL
  cause bytea not null comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
constraint error_record_pkey PRIMARY KEY (id)
policy error_record_engine permissive for select to openbot_engine
  using true
  with check 
policy error_record_platform permissive for insert to openbot_app
  using 
  with check ((organization_id IS NULL) AND (tenant_organization() IS NULL))
policy error_record_purge permissive for delete to openbot_engine
  using true
  with check 
policy error_record_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant insert, select to openbot_app;
grant delete, select to openbot_engine;

table execution owner openbot_owner row security forced with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.02, fillfactor=70)
  id uuid not null comment NULL
  organization_id uuid not null comment NULL
  project_id uuid not null comment NULL
  workflow text not null comment NULL
  workflow_version integer not null comment NULL
  subject_id uuid comment NULL
  identity_id uuid comment NULL
  parent_id uuid comment NULL
  attached boolean not null default false comment NULL
  open_children integer not null default 0 comment NULL
  state text not null default 'queued'::text comment NULL
  cursor jsonb not null default '{}'::jsonb comment NULL
  generation integer not null default 0 comment NULL
  owner text comment NULL
  epoch bigint comment NULL
  claim_id uuid comment NULL
  last_claim_id uuid comment NULL
  commit_number integer not null default 0 comment NULL
  signal_count integer not null default 0 comment NULL
  sequence integer not null default 0 comment NULL
  cancel_number integer not null default 0 comment NULL
  runnable_at timestamp with time zone comment NULL
  wait_until timestamp with time zone comment NULL
  stalls integer not null default 0 comment NULL
  deadline timestamp with time zone comment NULL
  budget_ms bigint comment NULL
  ran_ms bigint not null default 0 comment NULL
  ran_from bigint comment NULL
  expired_at timestamp with time zone comment NULL
  ending text comment NULL
  failure_category text comment NULL
  error_id uuid comment NULL
  trace text comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
  started_at timestamp with time zone comment NULL
  ended_at timestamp with time zone comment NULL
  member_id uuid comment NULL
  service text comment NULL
constraint execution_end_is_free CHECK (ended_at IS NULL OR owner IS NULL AND runnable_at IS NULL)
constraint execution_end_is_marked CHECK ((ended_at IS NOT NULL) = (state = ANY ('{completed,failed,cancelled,interrupted}'::text[])))
constraint execution_failure_is_whole CHECK (failure_category IS NULL OR ending IS NOT NULL OR (state = ANY ('{failed,cancelled,interrupted}'::text[])))
constraint execution_family_adds_up CHECK (open_children >= 0 AND (ended_at IS NULL OR open_children = 0) AND (parent_id IS NOT NULL OR NOT attached))
constraint execution_owned_is_not_ready CHECK (owner IS NULL OR runnable_at IS NULL)
constraint execution_owner_has_claim CHECK ((owner IS NULL) = (claim_id IS NULL) AND (owner IS NULL) = (epoch IS NULL))
constraint execution_pkey PRIMARY KEY (id)
constraint execution_state_known CHECK (state = ANY ('{queued,running,waiting,cancelling,outcome_unknown,completed,failed,cancelled,interrupted}'::text[]))
INDEX execution_member ON public.execution USING btree (organization_id, project_id, member_id, id) WHERE (member_id IS NOT NULL)
INDEX execution_owned ON public.execution USING btree (owner) WHERE (owner IS NOT NULL)
INDEX execution_parent ON public.execution USING btree (organization_id, project_id, parent_id) WHERE (parent_id IS NOT NULL)
INDEX execution_parked ON public.execution USING btree (id) WHERE ((ended_at IS NULL) AND (owner IS NULL) AND (runnable_at IS NULL))
INDEX execution_ready ON public.execution USING btree (runnable_at) WHERE ((runnable_at IS NOT NULL) AND (owner IS NULL))
INDEX execution_subject ON public.execution USING btree (organization_id, project_id, subject_id) WHERE (subject_id IS NOT NULL)
policy execution_child restrictive for insert to openbot_app
  using 
  with check ((organization_id = tenant_organization()) AND (project_id = tenant_project()) AND ((parent_id IS NULL) OR execution_is_here(parent_id)))
policy execution_engine permissive for all to openbot_engine
  using true
  with check true
policy execution_platform restrictive for all to openbot_app
  using ((organization_id <> '00000000-0000-0000-0000-000000000000'::uuid) OR pg_has_role('openbot_worker'::name, 'usage'::text))
  with check 
policy execution_tenant permissive for all to openbot_app
  using ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
  with check ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
grant delete, insert, select, update to openbot_app;
grant select, update to openbot_engine;

table execution_call owner openbot_owner row security forced with (fillfactor=80)
  execution_id uuid not null comment NULL
    grant select to openbot_engine
  step integer not null comment NULL
    grant select to openbot_engine
  name text not null comment NULL
    grant select to openbot_engine
  attempt integer not null comment NULL
    grant select to openbot_engine
  organization_id uuid not null comment NULL
  project_id uuid not null comment NULL
  generation integer not null comment NULL
  kind text not null comment NULL
  safety text not null comment NULL
  provider_key text not null comment NULL
  state text not null comment NULL
    grant select to openbot_engine
  late boolean not null default false comment NULL
  on_unknown text comment NULL
  limited boolean not null default false comment NULL
  decided text comment NULL
    grant select to openbot_engine
  input bytea comment NULL
  result bytea comment NULL
  failure_category text comment NULL
  error_id uuid comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
    grant select to openbot_engine
  ended_at timestamp with time zone comment NULL
constraint execution_call_decision_known CHECK (decided = ANY ('{stop,retry,result}'::text[]))
constraint execution_call_pkey PRIMARY KEY (execution_id, step, name, attempt)
constraint execution_call_policy_known CHECK (on_unknown = ANY ('{stop,retry}'::text[]))
constraint execution_call_safety_known CHECK (safety = ANY ('{repeatable,keyed,reconcilable,unproven}'::text[]))
constraint execution_call_state_known CHECK (state = ANY ('{intent,sending,succeeded,failed,unknown,abandoned}'::text[]))
policy execution_call_doctor permissive for select to openbot_engine
  using true
  with check 
policy execution_call_platform restrictive for all to openbot_app
  using ((organization_id <> '00000000-0000-0000-0000-000000000000'::uuid) OR pg_has_role('openbot_worker'::name, 'usage'::text))
  with check 
policy execution_call_tenant permissive for all to openbot_app
  using ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
  with check ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
grant delete, insert, select, update to openbot_app;

table execution_command owner openbot_owner row security forced
  scope_id uuid not null comment NULL
  key_hmac bytea not null comment NULL
  input_hmac bytea not null comment NULL
  organization_id uuid not null comment NULL
  receipt jsonb comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
  project_id uuid default tenant_project() comment NULL
constraint execution_command_pkey PRIMARY KEY (scope_id, key_hmac)
policy execution_command_platform restrictive for all to openbot_app
  using ((organization_id <> '00000000-0000-0000-0000-000000000000'::uuid) OR pg_has_role('openbot_worker'::name, 'usage'::text))
  with check 
policy execution_command_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table execution_event owner openbot_owner row security forced
  execution_id uuid not null comment NULL
    grant select to openbot_engine
  sequence integer not null comment NULL
    grant select to openbot_engine
  organization_id uuid not null comment NULL
  project_id uuid not null comment NULL
  claim_id uuid comment NULL
  commit_number integer comment NULL
  position integer comment NULL
  type text not null comment NULL
  step integer comment NULL
  attempt integer comment NULL
  state text comment NULL
  body bytea comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
    grant select to openbot_engine
constraint execution_event_pkey PRIMARY KEY (execution_id, sequence)
policy execution_event_doctor permissive for select to openbot_engine
  using true
  with check 
policy execution_event_platform restrictive for all to openbot_app
  using ((organization_id <> '00000000-0000-0000-0000-000000000000'::uuid) OR pg_has_role('openbot_worker'::name, 'usage'::text))
  with check 
policy execution_event_tenant permissive for all to openbot_app
  using ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
  with check ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
grant delete, insert, select, update to openbot_app;

table execution_note owner openbot_owner row security forced
  execution_id uuid not null comment NULL
  hook text not null comment NULL
  at text not null comment NULL
  step integer not null comment NULL
  name text not null comment NULL
  attempt integer not null comment NULL
  organization_id uuid not null comment NULL
  project_id uuid not null comment NULL
  commit_number integer not null comment NULL
  body bytea not null comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
constraint execution_note_pkey PRIMARY KEY (execution_id, hook, at, step, name, attempt)
constraint execution_note_step_known CHECK (at = ANY ('{before-call,after-call,phase-saved,ended}'::text[]))
policy execution_note_platform restrictive for all to openbot_app
  using ((organization_id <> '00000000-0000-0000-0000-000000000000'::uuid) OR pg_has_role('openbot_worker'::name, 'usage'::text))
  with check 
policy execution_note_tenant permissive for all to openbot_app
  using ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
  with check ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
grant delete, insert, select, update to openbot_app;

table execution_signal owner openbot_owner row security forced
  execution_id uuid not null comment NULL
    grant select to openbot_engine
  name text not null comment NULL
  number integer not null comment NULL
  organization_id uuid not null comment NULL
  project_id uuid not null comment NULL
  body bytea comment NULL
  consumed integer comment NULL
    grant select to openbot_engine
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
    grant select to openbot_engine
constraint execution_signal_pkey PRIMARY KEY (execution_id, name, number)
INDEX execution_signal_open ON public.execution_signal USING btree (execution_id) WHERE (consumed IS NULL)
policy execution_signal_doctor permissive for select to openbot_engine
  using true
  with check 
policy execution_signal_platform restrictive for all to openbot_app
  using ((organization_id <> '00000000-0000-0000-0000-000000000000'::uuid) OR pg_has_role('openbot_worker'::name, 'usage'::text))
  with check 
policy execution_signal_tenant permissive for all to openbot_app
  using ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
  with check ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
grant delete, insert, select, update to openbot_app;

table feed_position owner openbot_owner row security forced with (fillfactor=70)
  organization_id uuid not null comment NULL
  project_id uuid not null comment NULL
  position bigint not null default 0 comment NULL
constraint feed_position_counts CHECK ("position" >= 0)
constraint feed_position_is_one_each PRIMARY KEY (organization_id, project_id)
policy feed_position_engine permissive for all to openbot_engine
  using true
  with check true
policy feed_position_tenant permissive for all to openbot_app
  using ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
  with check ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
grant select to openbot_app;
grant delete, insert, select, update to openbot_engine;

table identity_provider owner openbot_owner row security forced
  organization_id uuid not null comment NULL
    grant select to openbot_engine
  id uuid not null comment NULL
    grant select to openbot_engine
  kind text not null comment NULL
  name text not null comment NULL
    grant select to openbot_engine
  enabled boolean not null comment NULL
    grant select to openbot_engine
  settings jsonb not null comment NULL
  sealed_secret bytea comment NULL
  revision integer not null default 1 comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
  updated_at timestamp with time zone not null default clock_timestamp() comment NULL
  deleted_at timestamp with time zone comment NULL
    grant select to openbot_engine
constraint identity_provider_forgets_its_secret CHECK (deleted_at IS NULL OR sealed_secret IS NULL)
constraint identity_provider_is_named_by_id PRIMARY KEY (organization_id, id)
constraint identity_provider_kind_is_known CHECK (kind = 'oidc'::text)
constraint identity_provider_name_is_short CHECK (char_length(name) >= 1 AND char_length(name) <= 100)
UNIQUE INDEX identity_provider_has_its_name ON public.identity_provider USING btree (organization_id, lower(name)) WHERE (deleted_at IS NULL)
policy identity_provider_engine permissive for select to openbot_engine
  using true
  with check 
policy identity_provider_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table identity_revocation owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  identity_id uuid not null comment 'references sealed_record (id)'
  since timestamp with time zone not null default clock_timestamp() comment NULL
constraint identity_revocation_pkey PRIMARY KEY (organization_id, identity_id)
policy identity_revocation_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table invitation owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  id uuid not null comment NULL
  email text not null comment NULL
  name text comment NULL
  role text not null comment NULL
  password_sign_in boolean not null comment NULL
  invited_by uuid not null comment NULL
  prefix text not null comment NULL
  hash bytea not null comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
  expires_at timestamp with time zone not null comment NULL
  revoked_at timestamp with time zone comment NULL
  accepted_at timestamp with time zone comment NULL
  member_id uuid comment NULL
constraint invitation_email_is_short CHECK (char_length(email) >= 3 AND char_length(email) <= 254)
constraint invitation_ends_once CHECK (num_nonnulls(accepted_at, revoked_at) < 2)
constraint invitation_has_its_maker FOREIGN KEY (organization_id, invited_by) REFERENCES member(organization_id, id)
constraint invitation_hash_is_sha256 CHECK (octet_length(hash) = 32)
constraint invitation_is_accepted_by_somebody CHECK ((accepted_at IS NULL) = (member_id IS NULL))
constraint invitation_is_named_by_id PRIMARY KEY (organization_id, id)
constraint invitation_made_a_member FOREIGN KEY (organization_id, member_id) REFERENCES member(organization_id, id)
constraint invitation_name_is_short CHECK (char_length(name) >= 1 AND char_length(name) <= 100)
constraint invitation_role_is_known CHECK (role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text, 'viewer'::text, 'auditor'::text]))
INDEX invitation_is_found_by_prefix ON public.invitation USING btree (organization_id, prefix)
UNIQUE INDEX invitation_is_open_once_for_an_address ON public.invitation USING btree (organization_id, lower(email)) WHERE ((accepted_at IS NULL) AND (revoked_at IS NULL))
policy invitation_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table invitation_project owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  invitation_id uuid not null comment NULL
  project_id uuid not null comment NULL
  role text not null comment NULL
constraint invitation_project_is_in_project FOREIGN KEY (organization_id, project_id) REFERENCES project(organization_id, id)
constraint invitation_project_is_of_invitation FOREIGN KEY (organization_id, invitation_id) REFERENCES invitation(organization_id, id)
constraint invitation_project_is_one_each PRIMARY KEY (organization_id, invitation_id, project_id)
constraint invitation_project_role_is_known CHECK (role = ANY (ARRAY['admin'::text, 'member'::text, 'viewer'::text]))
INDEX invitation_project_is_found_by_project ON public.invitation_project USING btree (organization_id, project_id)
policy invitation_project_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table linked_identity owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  id uuid not null comment NULL
  provider_id uuid not null comment NULL
  subject text not null comment NULL
  member_id uuid not null comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
  last_used_at timestamp with time zone not null default clock_timestamp() comment NULL
constraint linked_identity_belongs_to_member FOREIGN KEY (organization_id, member_id) REFERENCES member(organization_id, id)
constraint linked_identity_has_its_provider FOREIGN KEY (organization_id, provider_id) REFERENCES identity_provider(organization_id, id)
constraint linked_identity_is_named_by_id PRIMARY KEY (organization_id, id)
constraint linked_identity_is_one_of_a_member UNIQUE (organization_id, provider_id, member_id)
constraint linked_identity_is_one_subject UNIQUE (organization_id, provider_id, subject)
constraint linked_identity_subject_is_short CHECK (char_length(subject) >= 1 AND char_length(subject) <= 255)
INDEX linked_identity_is_found_by_member ON public.linked_identity USING btree (organization_id, member_id)
policy linked_identity_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table master_key_check owner openbot_owner
  master_key_id text not null comment NULL
  value bytea not null comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
constraint master_key_check_is_a_mac CHECK (octet_length(value) = 32)
constraint master_key_check_is_named PRIMARY KEY (master_key_id);

table member owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  id uuid not null comment NULL
  kind text not null default 'person'::text comment NULL
  name text not null comment NULL
  email text comment NULL
  role text comment NULL
  key_id uuid comment NULL
  key_project_id uuid comment NULL
  suspended_at timestamp with time zone comment NULL
  removed_at timestamp with time zone comment NULL
  revision integer not null default 1 comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
  stopped_at timestamp with time zone comment NULL
  stopped_by uuid comment NULL
constraint member_belongs_to_organization FOREIGN KEY (organization_id) REFERENCES organization(id)
constraint member_email_is_short CHECK (char_length(email) >= 3 AND char_length(email) <= 254)
constraint member_has_a_role_or_is_a_mirror CHECK ((role IS NULL) = (kind = 'api_key'::text))
constraint member_is_named_by_id PRIMARY KEY (organization_id, id)
constraint member_is_stopped_by_provider FOREIGN KEY (organization_id, stopped_by) REFERENCES identity_provider(organization_id, id)
constraint member_kind_is_known CHECK (kind = ANY (ARRAY['person'::text, 'service_account'::text, 'api_key'::text]))
constraint member_mirror_is_in_project FOREIGN KEY (organization_id, key_project_id) REFERENCES project(organization_id, id)
constraint member_mirrors_a_key FOREIGN KEY (organization_id, key_id) REFERENCES credential(organization_id, id)
constraint member_mirrors_one_key_in_one_project CHECK (num_nonnulls(key_id, key_project_id) =
CASE kind
    WHEN 'api_key'::text THEN 2
    ELSE 0
END)
constraint member_name_is_short CHECK (char_length(name) >= 1 AND char_length(name) <= 100)
constraint member_only_people_have_email CHECK (email IS NULL OR kind = 'person'::text)
constraint member_role_is_known CHECK (role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text, 'viewer'::text, 'auditor'::text]))
constraint member_stop_is_somebodys CHECK (num_nulls(stopped_at, stopped_by) = ANY (ARRAY[0, 2]))
UNIQUE INDEX member_email_is_taken_once ON public.member USING btree (organization_id, lower(email)) WHERE ((email IS NOT NULL) AND (removed_at IS NULL))
INDEX member_mirror_is_found_by_project ON public.member USING btree (organization_id, key_project_id) WHERE (key_project_id IS NOT NULL)
UNIQUE INDEX member_mirror_is_one_each ON public.member USING btree (organization_id, key_id, key_project_id) WHERE (key_id IS NOT NULL)
INDEX member_stop_is_found_by_provider ON public.member USING btree (organization_id, stopped_by) WHERE (stopped_by IS NOT NULL)
policy member_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table member_setting owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  member_id uuid not null comment NULL
  version integer not null default 0 comment NULL
  default_bot_id uuid comment NULL
constraint member_setting_belongs_to_member FOREIGN KEY (organization_id, member_id) REFERENCES member(organization_id, id)
constraint member_setting_is_one_each PRIMARY KEY (organization_id, member_id)
constraint member_setting_version_counts CHECK (version >= 0)
policy member_setting_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table model_connection owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  id uuid not null comment NULL
  kind text not null comment NULL
  name text not null comment NULL
  base_url text comment NULL
  api text comment NULL
  sealed_key bytea comment NULL
  models jsonb not null comment NULL
  revision integer not null default 1 comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
  updated_at timestamp with time zone not null default clock_timestamp() comment NULL
  deleted_at timestamp with time zone comment NULL
constraint model_connection_api_is_known CHECK (api = ANY (ARRAY['responses'::text, 'chat'::text]))
constraint model_connection_base_url_is_short CHECK (char_length(base_url) >= 1 AND char_length(base_url) <= 2000)
constraint model_connection_belongs_to_organization FOREIGN KEY (organization_id) REFERENCES organization(id)
constraint model_connection_compatible_has_address CHECK (kind <> 'openai-compatible'::text OR base_url IS NOT NULL)
constraint model_connection_deleted_has_no_key CHECK (deleted_at IS NULL OR sealed_key IS NULL)
constraint model_connection_is_named_by_id PRIMARY KEY (organization_id, id)
constraint model_connection_kind_is_known CHECK (kind = ANY (ARRAY['openai'::text, 'anthropic'::text, 'openai-compatible'::text]))
constraint model_connection_lists_models CHECK (jsonb_typeof(models) = 'array'::text)
constraint model_connection_name_is_short CHECK (char_length(name) >= 1 AND char_length(name) <= 100)
constraint model_connection_revision_counts CHECK (revision >= 1)
constraint model_connection_speaks_an_api CHECK ((kind = 'anthropic'::text) = (api IS NULL))
constraint model_connection_vendor_has_key CHECK (kind = 'openai-compatible'::text OR sealed_key IS NOT NULL OR deleted_at IS NOT NULL)
UNIQUE INDEX model_connection_name_is_taken_once ON public.model_connection USING btree (organization_id, lower(name)) WHERE (deleted_at IS NULL)
policy model_connection_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table node owner openbot_owner
  name text not null comment NULL
  epoch bigint not null comment NULL
  beat bigint not null default 0 comment NULL
  draining boolean not null default false comment NULL
  seen_at timestamp with time zone not null default clock_timestamp() comment NULL
  last_epoch_seen_at timestamp with time zone comment NULL
  knows text[] not null default '{}'::text[] comment NULL
  process uuid comment NULL
  started_at timestamp with time zone not null default clock_timestamp() comment NULL
constraint node_pkey PRIMARY KEY (name)
grant select to openbot_engine;
grant delete, insert, select, update to openbot_worker;

table organization owner openbot_owner row security forced
  id uuid not null comment NULL
  name text not null comment NULL
  revision integer not null default 1 comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
constraint organization_is_named_by_id PRIMARY KEY (id)
constraint organization_is_not_the_platform CHECK (id <> '00000000-0000-0000-0000-000000000000'::uuid)
constraint organization_name_is_short CHECK (char_length(name) >= 1 AND char_length(name) <= 100)
policy organization_engine permissive for select to openbot_engine
  using true
  with check 
policy organization_tenant permissive for all to openbot_app
  using (id = tenant_organization())
  with check (id = tenant_organization())
grant delete, insert, select, update to openbot_app;
grant select to openbot_engine;

table organization_domain owner openbot_owner row security forced
  organization_id uuid not null comment NULL
    grant select to openbot_engine
  id uuid not null comment NULL
  domain text not null comment NULL
    grant select to openbot_engine
  provider_id uuid not null comment NULL
    grant select to openbot_engine
  proof text not null comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
  verified_at timestamp with time zone comment NULL
    grant select to openbot_engine
constraint organization_domain_has_its_provider FOREIGN KEY (organization_id, provider_id) REFERENCES identity_provider(organization_id, id)
constraint organization_domain_is_lower_case CHECK (domain = lower(domain) AND char_length(domain) >= 3 AND char_length(domain) <= 253)
constraint organization_domain_is_named_by_id PRIMARY KEY (organization_id, id)
constraint organization_domain_is_one_each UNIQUE (organization_id, domain)
INDEX organization_domain_is_found_by_name ON public.organization_domain USING btree (domain) WHERE (verified_at IS NOT NULL)
INDEX organization_domain_is_found_by_provider ON public.organization_domain USING btree (organization_id, provider_id)
policy organization_domain_engine permissive for select to openbot_engine
  using true
  with check 
policy organization_domain_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table organization_key owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  number integer not null comment NULL
  wrapped bytea not null comment NULL
  master_key_id text not null comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
constraint organization_key_counts_from_one CHECK (number >= 1)
constraint organization_key_is_numbered PRIMARY KEY (organization_id, number)
policy organization_key_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table permit owner openbot_owner row security forced
  execution_id uuid not null comment 'references execution (id)'
  step integer not null comment NULL
  name text not null comment NULL
  attempt integer not null comment NULL
  organization_id uuid not null comment NULL
  generation integer not null comment NULL
  limit_name text not null comment NULL
  number bigint not null comment NULL
  state text not null default 'waiting'::text comment NULL
  woken boolean not null default false comment NULL
  timeout_ms integer not null comment NULL
  expires_at timestamp with time zone comment NULL
constraint permit_pkey PRIMARY KEY (execution_id, step, name, attempt)
constraint permit_state_known CHECK (state = ANY ('{waiting,held,freed}'::text[]))
INDEX permit_expiring ON public.permit USING btree (expires_at) WHERE (expires_at IS NOT NULL)
INDEX permit_freed ON public.permit USING btree (organization_id, limit_name) WHERE (state = 'freed'::text)
INDEX permit_of_limit ON public.permit USING btree (organization_id, limit_name, state, number)
INDEX permit_unwoken ON public.permit USING btree (execution_id) WHERE ((state = 'held'::text) AND (NOT woken))
policy permit_engine permissive for all to openbot_engine
  using true
  with check true
policy permit_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;
grant delete, select, update to openbot_engine;

table product_event owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  project_id uuid not null comment NULL
  position bigint not null comment NULL
  member_id uuid not null comment NULL
  type text not null comment NULL
  aggregate_id uuid not null comment NULL
  aggregate_sequence integer not null comment NULL
  data jsonb not null comment NULL
  created_at timestamp with time zone not null comment NULL
constraint product_event_has_place PRIMARY KEY (organization_id, project_id, "position")
INDEX product_event_member ON public.product_event USING btree (organization_id, project_id, member_id, "position")
policy product_event_engine permissive for all to openbot_engine
  using true
  with check true
policy product_event_tenant permissive for all to openbot_app
  using ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
  with check ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
grant select to openbot_app;
grant delete, insert, select to openbot_engine;

table product_event_inbox owner openbot_owner row security forced with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000)
  id bigint not null generated always as identity comment NULL
  organization_id uuid not null comment NULL
  project_id uuid not null comment NULL
  member_id uuid not null comment NULL
  type text not null comment NULL
  aggregate_id uuid not null comment NULL
  aggregate_sequence integer not null comment NULL
  data jsonb not null default '{}'::jsonb comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
constraint product_event_inbox_pkey PRIMARY KEY (id)
policy product_event_inbox_engine permissive for all to openbot_engine
  using true
  with check true
policy product_event_inbox_tenant permissive for all to openbot_app
  using ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
  with check ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
grant insert to openbot_app;
grant delete, select to openbot_engine;

table project owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  id uuid not null comment NULL
  name text not null comment NULL
  revision integer not null default 1 comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
  deleting_at timestamp with time zone comment NULL
constraint project_belongs_to_organization FOREIGN KEY (organization_id) REFERENCES organization(id)
constraint project_is_named_by_id PRIMARY KEY (organization_id, id)
constraint project_name_is_short CHECK (char_length(name) >= 1 AND char_length(name) <= 100)
INDEX project_is_listed_by_age ON public.project USING btree (organization_id, created_at, id)
policy project_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table project_purge owner openbot_owner row security forced
  organization_id uuid not null comment NULL
    grant select to openbot_engine
  id uuid not null comment NULL
    grant select to openbot_engine
  name text not null comment NULL
  requested_by uuid not null comment NULL
  requested_with uuid not null comment NULL
  execution_id uuid not null comment NULL
  state text not null default 'stopping'::text comment NULL
    grant select to openbot_engine
  calls_settled integer not null default 0 comment NULL
  leases_left integer not null default 0 comment NULL
  objects_removed bigint not null default 0 comment NULL
  objects_failed integer not null default 0 comment NULL
  failed_objects text[] not null default '{}'::text[] comment NULL
  rows jsonb not null default '{}'::jsonb comment NULL
  audit_length bigint comment NULL
  audit_hash bytea comment NULL
  requested_at timestamp with time zone not null default clock_timestamp() comment NULL
    grant select to openbot_engine
  moved_at timestamp with time zone not null default clock_timestamp() comment NULL
    grant select to openbot_engine
  completed_at timestamp with time zone comment NULL
    grant select to openbot_engine
constraint project_purge_belongs_to_organization FOREIGN KEY (organization_id) REFERENCES organization(id)
constraint project_purge_chain_is_whole CHECK (num_nulls(audit_length, audit_hash) = ANY (ARRAY[0, 2]))
constraint project_purge_end_is_marked CHECK ((completed_at IS NOT NULL) = (state = 'completed'::text))
constraint project_purge_ends_without_leftovers CHECK (completed_at IS NULL OR objects_failed = 0)
constraint project_purge_is_named_by_project PRIMARY KEY (organization_id, id)
constraint project_purge_lists_some_failures CHECK (cardinality(failed_objects) <= 100)
constraint project_purge_state_is_known CHECK (state = ANY (ARRAY['stopping'::text, 'objects'::text, 'rows'::text, 'leftovers'::text, 'completed'::text]))
INDEX project_purge_goes_on ON public.project_purge USING btree (moved_at) WHERE (completed_at IS NULL)
INDEX project_purge_is_listed_by_age ON public.project_purge USING btree (organization_id, requested_at, id)
policy project_purge_engine permissive for select to openbot_engine
  using true
  with check 
policy project_purge_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table project_role owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  project_id uuid not null comment NULL
  member_id uuid not null comment NULL
  role text not null comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
constraint project_role_is_in_project FOREIGN KEY (organization_id, project_id) REFERENCES project(organization_id, id)
constraint project_role_is_known CHECK (role = ANY (ARRAY['admin'::text, 'member'::text, 'viewer'::text]))
constraint project_role_is_of_member FOREIGN KEY (organization_id, member_id) REFERENCES member(organization_id, id)
constraint project_role_is_one_each PRIMARY KEY (organization_id, project_id, member_id)
INDEX project_role_is_found_by_member ON public.project_role USING btree (organization_id, member_id)
policy project_role_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table provider_session owner openbot_owner row security forced
  organization_id uuid not null comment NULL
    grant select to openbot_engine
  session_id uuid not null comment NULL
    grant select to openbot_engine
  identity_id uuid not null comment NULL
  provider_session text comment NULL
  sealed bytea not null comment NULL
  asked_at timestamp with time zone not null default clock_timestamp() comment NULL
  ask_at timestamp with time zone comment NULL
    grant select, update to openbot_engine
constraint provider_session_is_a_session FOREIGN KEY (organization_id, session_id) REFERENCES credential(organization_id, id)
constraint provider_session_is_of_one_session PRIMARY KEY (organization_id, session_id)
constraint provider_session_is_of_somebody FOREIGN KEY (organization_id, identity_id) REFERENCES linked_identity(organization_id, id)
constraint provider_session_name_is_short CHECK (char_length(provider_session) <= 500)
INDEX provider_session_is_asked ON public.provider_session USING btree (ask_at) WHERE (ask_at IS NOT NULL)
INDEX provider_session_is_found_by_identity ON public.provider_session USING btree (organization_id, identity_id)
policy provider_session_engine permissive for all to openbot_engine
  using true
  with check true
policy provider_session_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table rate_bucket owner openbot_owner with (fillfactor=50)
  bucket bytea not null comment NULL
  full_at bigint not null comment NULL
constraint rate_bucket_is_named_by_a_mac CHECK (octet_length(bucket) = 32)
constraint rate_bucket_is_one_each PRIMARY KEY (bucket)
INDEX rate_bucket_full ON public.rate_bucket USING btree (full_at)
grant delete, insert, select, update to openbot_engine;

table resource_lease owner openbot_owner row security forced
  id uuid not null comment NULL
    grant select to openbot_engine
  organization_id uuid not null comment NULL
    grant select to openbot_engine
  project_id uuid not null comment NULL
    grant select to openbot_engine
  kind text not null comment NULL
    grant select to openbot_engine
  resource text not null comment NULL
    grant select to openbot_engine
  execution_id uuid not null comment NULL
    grant select to openbot_engine
  owner text not null comment NULL
    grant select to openbot_engine
  epoch bigint not null comment NULL
  process uuid comment NULL
    grant select to openbot_engine
  generation integer not null comment NULL
  state text not null default 'open'::text comment NULL
    grant select to openbot_engine
  error_id uuid comment NULL
    grant select to openbot_engine
  opened_at timestamp with time zone not null default clock_timestamp() comment NULL
    grant select to openbot_engine
  closing_at timestamp with time zone comment NULL
    grant select to openbot_engine
  closed_at timestamp with time zone comment NULL
    grant select to openbot_engine
  released_by text comment NULL
    grant select to openbot_engine
constraint resource_lease_close_is_marked CHECK ((closed_at IS NOT NULL) = (state = 'closed'::text))
constraint resource_lease_pkey PRIMARY KEY (id)
constraint resource_lease_release_closes CHECK (released_by IS NULL OR state = 'closed'::text)
constraint resource_lease_state_known CHECK (state = ANY ('{open,closing,closed,close_failed,unknown}'::text[]))
UNIQUE INDEX resource_lease_held ON public.resource_lease USING btree (organization_id, project_id, kind, resource) WHERE (closed_at IS NULL)
INDEX resource_lease_of_work ON public.resource_lease USING btree (execution_id) WHERE (closed_at IS NULL)
policy resource_lease_doctor permissive for select to openbot_engine
  using true
  with check 
policy resource_lease_tenant permissive for all to openbot_app
  using ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
  with check ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
grant delete, insert, select, update to openbot_app;

table schema_migration owner openbot_owner
  id integer not null default nextval('schema_migration_id_seq'::regclass) comment NULL
  timestamp bigint not null comment NULL
  name character varying not null comment NULL
constraint PK_0edff5015b71cc0389ae0f4b9a1 PRIMARY KEY (id);

table scim_token owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  id uuid not null comment NULL
  provider_id uuid not null comment NULL
  name text not null comment NULL
  prefix text not null comment NULL
  hash bytea not null comment NULL
  created_by uuid not null comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
  expires_at timestamp with time zone comment NULL
  last_used_at timestamp with time zone comment NULL
constraint scim_token_has_its_maker FOREIGN KEY (organization_id, created_by) REFERENCES member(organization_id, id)
constraint scim_token_hash_is_sha256 CHECK (octet_length(hash) = 32)
constraint scim_token_is_named_by_id PRIMARY KEY (organization_id, id)
constraint scim_token_is_of_provider FOREIGN KEY (organization_id, provider_id) REFERENCES identity_provider(organization_id, id)
constraint scim_token_name_is_short CHECK (char_length(name) >= 1 AND char_length(name) <= 100)
INDEX scim_token_is_found_by_prefix ON public.scim_token USING btree (organization_id, prefix)
INDEX scim_token_is_listed_by_provider ON public.scim_token USING btree (organization_id, provider_id, id)
policy scim_token_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table sealed_record owner openbot_owner row security forced
  id uuid not null comment NULL
    grant select to openbot_engine
  organization_id uuid not null comment NULL
  project_id uuid not null comment NULL
  kind text not null comment NULL
  body bytea not null comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
  credential_id uuid comment NULL
    grant select to openbot_engine
constraint sealed_record_pkey PRIMARY KEY (id)
policy sealed_record_engine permissive for select to openbot_engine
  using true
  with check 
policy sealed_record_platform restrictive for all to openbot_app
  using ((organization_id <> '00000000-0000-0000-0000-000000000000'::uuid) OR pg_has_role('openbot_worker'::name, 'usage'::text))
  with check 
policy sealed_record_tenant permissive for all to openbot_app
  using ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
  with check ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
grant delete, insert, select, update to openbot_app;

table sign_in_attempt owner openbot_owner row security forced
  organization_id uuid not null comment NULL
  id uuid not null comment NULL
  provider_id uuid not null comment NULL
  prefix text not null comment NULL
  hash bytea not null comment NULL
  browser bytea not null comment NULL
  sealed bytea not null comment NULL
  return_to text not null comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
  expires_at timestamp with time zone not null comment NULL
  used_at timestamp with time zone comment NULL
constraint sign_in_attempt_browser_is_sha256 CHECK (octet_length(browser) = 32)
constraint sign_in_attempt_goes_to_provider FOREIGN KEY (organization_id, provider_id) REFERENCES identity_provider(organization_id, id)
constraint sign_in_attempt_hash_is_sha256 CHECK (octet_length(hash) = 32)
constraint sign_in_attempt_is_named_by_id PRIMARY KEY (organization_id, id)
constraint sign_in_attempt_returns_here CHECK (return_to ~~ '/%'::text AND char_length(return_to) <= 2000)
INDEX sign_in_attempt_is_found_by_browser ON public.sign_in_attempt USING btree (organization_id, browser, used_at)
INDEX sign_in_attempt_is_found_by_prefix ON public.sign_in_attempt USING btree (organization_id, prefix)
INDEX sign_in_attempt_is_found_by_provider ON public.sign_in_attempt USING btree (organization_id, provider_id)
INDEX sign_in_attempt_is_over ON public.sign_in_attempt USING btree (organization_id, expires_at)
policy sign_in_attempt_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table token_bucket owner openbot_owner row security forced with (fillfactor=50)
  organization_id uuid not null comment NULL
  name text not null comment NULL
  capacity double precision not null comment NULL
  refill_per_second double precision not null comment NULL
  level double precision not null comment NULL
  as_of timestamp with time zone not null comment NULL
constraint token_bucket_fills_up CHECK (capacity > 0::double precision AND refill_per_second > 0::double precision)
constraint token_bucket_pkey PRIMARY KEY (organization_id, name)
policy token_bucket_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table token_reservation owner openbot_owner row security forced
  execution_id uuid not null comment 'references execution (id)'
  step integer not null comment NULL
  name text not null comment NULL
  attempt integer not null comment NULL
  organization_id uuid not null comment NULL
  bucket text not null comment NULL
  amount double precision not null comment NULL
  ready_at timestamp with time zone not null comment NULL
  used double precision comment NULL
constraint token_reservation_pkey PRIMARY KEY (execution_id, step, name, attempt)
INDEX token_reservation_settled ON public.token_reservation USING btree (organization_id, bucket) WHERE (used IS NOT NULL)
policy token_reservation_tenant permissive for all to openbot_app
  using (organization_id = tenant_organization())
  with check (organization_id = tenant_organization())
grant delete, insert, select, update to openbot_app;

table usage_entry owner openbot_owner row security forced
  execution_id uuid not null comment NULL
  step integer not null comment NULL
  name text not null comment NULL
  attempt integer not null comment NULL
  organization_id uuid not null comment NULL
  project_id uuid not null comment NULL
  subject_id uuid comment NULL
  source text not null comment NULL
  provider text not null comment NULL
  model text not null comment NULL
  status text not null comment NULL
  input_tokens bigint comment NULL
  output_tokens bigint comment NULL
  cached_input_tokens bigint comment NULL
  cache_write_tokens bigint comment NULL
  reasoning_tokens bigint comment NULL
  estimated_input_tokens bigint comment NULL
  created_at timestamp with time zone not null default clock_timestamp() comment NULL
constraint usage_entry_pkey PRIMARY KEY (execution_id, step, name, attempt)
constraint usage_entry_status_known CHECK (status = ANY ('{confirmed,estimated,unknown}'::text[]))
constraint usage_entry_unknown_is_not_zero CHECK (status <> 'unknown'::text OR input_tokens IS NULL AND output_tokens IS NULL)
policy usage_entry_platform restrictive for all to openbot_app
  using ((organization_id <> '00000000-0000-0000-0000-000000000000'::uuid) OR pg_has_role('openbot_worker'::name, 'usage'::text))
  with check 
policy usage_entry_tenant permissive for all to openbot_app
  using ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
  with check ((organization_id = tenant_organization()) AND (project_id = tenant_project()))
grant delete, insert, select, update to openbot_app;

CREATE OR REPLACE FUNCTION public.admit_batch(p_items jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET "app.organization" TO ''
 SET "app.project" TO ''
AS $function$
declare t record;
begin
  if not jsonb_path_exists(p_items, '$[*] ? (@.organization != $o || @.project != $p)', jsonb_build_object('o', p_items->0->'organization', 'p', p_items->0->'project')) then
    -- One tenant's, as most batches are.
    perform set_config('app.organization', p_items->0->>'organization', true), set_config('app.project', p_items->0->>'project', true);
    perform admit_executions(p_items);
    return;
  end if;
  for t in select v->>'organization' as organization, v->>'project' as project, jsonb_agg(v) as items from jsonb_array_elements(p_items) v group by 1, 2 loop
    perform set_config('app.organization', t.organization, true), set_config('app.project', t.project, true);
    perform admit_executions(t.items);
  end loop;
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.admit_executions(p_items jsonb)
 RETURNS integer
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare admitted int; counted uuid[]; children boolean := jsonb_path_exists(p_items, '$[*].parent'); items jsonb := case when children then adopt_children(p_items) else p_items end;
begin
  if jsonb_path_exists(items, '$[*] ? (exists(@.service) || @.workflow like_regex "/" || @.organization == "00000000-0000-0000-0000-000000000000")') then perform assert_owners(items); end if;
  with head as (
    insert into execution (id, organization_id, project_id, workflow, workflow_version, cursor, subject_id, identity_id, member_id, service, trace, parent_id, attached, deadline, budget_ms, runnable_at, wait_until, sequence)
    select i.id, i.organization, i.project, i.workflow, i.version, i.cursor, i.subject, i.identity, i.member, i.service, i.trace, i.parent, coalesce(i.attached, false),
      d.deadline, i.budget, case when i.ready then coalesce(d.due, '-infinity') else d.deadline end, d.due, 1
    from jsonb_to_recordset(items) i(id uuid, organization uuid, project uuid, workflow text, version int, cursor jsonb, subject uuid, identity uuid, member uuid, trace text, parent uuid,
      attached boolean, ready boolean, deadline timestamptz, within double precision, budget bigint, service text, delay double precision)
    cross join lateral (select coalesce(i.deadline, clock_timestamp() + make_interval(secs => i.within / 1000)) as deadline, clock_timestamp() + make_interval(secs => i.delay / 1000) as due) d
    on conflict (id) do nothing returning id, organization_id, project_id, member_id, workflow, parent_id, attached),
  told as (
    insert into product_event_inbox (organization_id, project_id, member_id, type, aggregate_id, aggregate_sequence, data)
    select organization_id, project_id, member_id, 'execution.started', id, 1, jsonb_build_object('workflow', workflow) from head where member_id is not null),
  logged as (insert into execution_event (execution_id, sequence, organization_id, project_id, type, state) select id, 1, organization_id, project_id, 'State', 'queued' from head)
  select count(*), array_agg(head.parent_id) filter (where head.attached) into admitted, counted from head;
  if counted is not null then perform count_children(counted); end if;
  if children and admitted < jsonb_array_length(items) then perform assert_own_children(items); end if;
  return admitted;
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.adopt_children(p_items jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
declare parents uuid[] := array(select distinct (v->>'parent')::uuid from jsonb_array_elements(p_items) v where v ? 'parent'); adopted jsonb;
begin
  if cardinality(parents) > (select count(*) from execution x where x.id = any (parents)) then
    raise exception 'the parent of new work is not here' using errcode = 'foreign_key_violation';
  end if;
  select jsonb_agg(case when p.id is null then i.v else i.v || jsonb_build_object('organization', p.organization_id, 'project', p.project_id, 'member', p.member_id) end) into adopted
    from jsonb_array_elements(p_items) i(v) left join (select * from execution x where x.id = any (parents)) p on p.id = (i.v->>'parent')::uuid;
  return adopted;
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.append_event(p_id uuid, p_type text, p_state text, p_body bytea)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare h execution;
begin
  update execution x set sequence = x.sequence + 1 where x.id = p_id returning * into h;
  insert into execution_event (execution_id, sequence, organization_id, project_id, type, state, body) values (h.id, h.sequence, h.organization_id, h.project_id, p_type, p_state, p_body);
  return h.sequence;
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.assert_own_children(p_items jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
declare ids uuid[] := array(select (v->>'id')::uuid from jsonb_array_elements(p_items) v where v ? 'parent');
begin
  if exists (select from jsonb_array_elements(p_items) i(v) left join (select * from execution y where y.id = any (ids)) x on x.id = (i.v->>'id')::uuid
      where i.v ? 'parent' and x.parent_id is distinct from (i.v->>'parent')::uuid) then
    raise exception 'another execution has the id of a child' using errcode = 'unique_violation';
  end if;
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.assert_owners(p_items jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare wrong text;
begin
  select i.workflow into wrong from jsonb_to_recordset(p_items) i(organization uuid, workflow text, member uuid, service text)
    where (i.service is not null and i.member is not null) or i.service is distinct from case when position('/' in i.workflow) > 0 then split_part(i.workflow, '/', 1) end
      or (i.organization = '00000000-0000-0000-0000-000000000000'::uuid and i.service is null) limit 1;
  if found then raise exception 'workflow % is not this owner''s', wrong using errcode = 'integrity_constraint_violation'; end if;
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.attached_of(p_ids uuid[])
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
begin
  return query with recursive below(id) as (
    select x.id from execution x where x.parent_id = any (p_ids) and x.attached and x.ended_at is null
    union select x.id from below b join execution x on x.parent_id = b.id where x.attached and x.ended_at is null)
  select b.id from below b;
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.audit_text(x audit_inbox, p_sequence bigint)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select jsonb_build_array(1, x.organization_id, x.project_id, p_sequence, x.id, (extract(epoch from x.at) * 1000)::bigint, x.action, x.outcome, x.actor_kind, x.member_id,
    x.credential_kind, x.credential_id, x.on_behalf_of, x.service, x.target_kind, x.target_id, x.address,
    (select coalesce(jsonb_agg(jsonb_build_array(d.key, d.value) order by d.key collate "C"), '[]') from jsonb_each(x.detail) d))::text
$function$

owner openbot_engine;
grant execute to openbot_owner;

CREATE OR REPLACE FUNCTION public.begun_with(p_id uuid, p_credentials uuid[])
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  with recursive line as (
    select x.identity_id, x.parent_id from execution x where x.id = p_id
    union all
    select x.identity_id, x.parent_id from line l join execution x on x.id = l.parent_id where l.identity_id is null)
  select exists (select from line l join sealed_record s on s.id = l.identity_id where s.credential_id = any (p_credentials))
$function$

owner openbot_owner;
grant execute to openbot_engine;

CREATE OR REPLACE FUNCTION public.call_of(p_id uuid, p_step integer, p_name text, p_attempt integer)
 RETURNS execution_call
 LANGUAGE sql
 STABLE
AS $function$
  select c from execution_call c where c.execution_id = p_id and c.step = p_step and c.name = p_name and c.attempt = p_attempt
$function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.calls_of(p_id uuid, p_step integer, p_name text, p_latest boolean)
 RETURNS SETOF execution_call
 LANGUAGE sql
 STABLE
AS $function$
  select c.* from execution_call c where c.execution_id = p_id and (p_step is null or c.step = p_step) and (p_name is null or c.name = p_name)
    and (not p_latest or not exists (select 1 from execution_call l where l.execution_id = c.execution_id and l.step = c.step and l.name = c.name and l.attempt > c.attempt))
$function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.claim_executions(p_known text[], p_node text, p_epoch bigint, p_limit integer, p_alone boolean)
 RETURNS TABLE(head execution, claimed_at timestamp with time zone, was_runnable_at timestamp with time zone, was_state text, expires_at timestamp with time zone)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
declare ids uuid[]; claims uuid[]; instants timestamptz[]; states text[];
begin
  if p_alone then
    select array_agg(r.id), array_agg(gen_random_uuid()), array_agg(r.runnable_at), array_agg(r.state) into ids, claims, instants, states from (
      select y.*, first_value(y.stalls) over (order by y.runnable_at, y.id) as kind, row_number() over (partition by y.stalls order by y.runnable_at, y.id) as place from (
        select x.id, x.runnable_at, x.state, x.stalls from execution x
        where x.runnable_at <= clock_timestamp() and x.owner is null and x.runnable_at is not null
          and x.workflow || ':' || x.workflow_version = any (p_known) and x.stalls >= 3
        order by x.runnable_at limit p_limit for no key update skip locked) y) r
      where r.stalls = r.kind and r.place <= case r.kind when 3 then 64 when 4 then 8 else 1 end;
  else
    select array_agg(r.id), array_agg(gen_random_uuid()), array_agg(r.runnable_at), array_agg(r.state) into ids, claims, instants, states from (
      select x.id, x.runnable_at, x.state from execution x
      where x.runnable_at <= clock_timestamp() and x.owner is null and x.runnable_at is not null
        and x.workflow || ':' || x.workflow_version = any (p_known) and x.stalls < 3
      order by x.runnable_at limit p_limit for no key update skip locked) r;
  end if;
  if ids is null then return; end if;
  perform set_config('synchronous_commit', 'off', true);
  return query
  update execution x set owner = p_node, epoch = p_epoch, claim_id = claims[array_position(ids, x.id)], last_claim_id = claims[array_position(ids, x.id)], generation = x.generation + 1, runnable_at = null,
    started_at = coalesce(x.started_at, clock_timestamp()), ran_from = coalesce(x.ran_from, outer_clock(case when x.attached then x.parent_id end)), state = case when x.state in ('queued', 'waiting') then 'running' else x.state end
  where x.id = any (ids) returning x, clock_timestamp(), instants[array_position(ids, x.id)], states[array_position(ids, x.id)],
    case when x.deadline is not null or x.budget_ms is not null then work_expiry(x) end;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.claim_provider_sessions(p_limit integer, p_ms integer)
 RETURNS TABLE(o_organization uuid, o_session uuid)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    update provider_session s set ask_at = clock_timestamp() + p_ms * interval '1 millisecond'
      from (select d.organization_id, d.session_id from provider_session d where d.ask_at <= clock_timestamp() order by d.ask_at limit p_limit for no key update skip locked) due
      where s.organization_id = due.organization_id and s.session_id = due.session_id returning s.organization_id, s.session_id
  $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.close_audit_chain(p_organization uuid, p_project uuid)
 RETURNS TABLE(o_length bigint, o_hash bytea)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare h audit_head;
begin
  if not exists (select from project_purge p where p.organization_id = p_organization and p.id = p_project and p.completed_at is null) then
    raise exception 'this project is not being deleted' using errcode = 'insufficient_privilege';
  end if;
  while link_audit_chain(p_organization, p_project, 1000) > 0 loop end loop;
  select * into h from audit_head a where a.organization_id = p_organization and a.chain_id = p_project;
  insert into audit_inbox (organization_id, id, action, outcome, actor_kind, service, target_kind, target_id, detail)
    values (p_organization, overlay(overlay(md5('project.purged:' || p_project) placing '8' from 13) placing 'a' from 17)::uuid, 'project.purged', 'done', 'service', 'purge', 'project', p_project,
      jsonb_build_object('length', h.length, 'hash', encode(h.hash, 'hex')));
  return query select h.length, h.hash;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.commit_batch(p_items jsonb, p_skip boolean)
 RETURNS TABLE(o_id uuid, o_outcome text, o_sequence integer, o_gate jsonb)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET "app.organization" TO ''
 SET "app.project" TO ''
AS $function$
declare held text[]; revoking uuid[] := '{}'; l record; answered uuid[] := '{}'; t record; i commit_item; h execution;
begin
  if jsonb_array_length(p_items) = 1 and not p_items->0 ?| '{feature,calls,consume,children,parent,notes}' then
    -- Alone, and of nothing but its head and log, as most are that go alone. Whatever keeps it from that is found out below.
    i := jsonb_populate_record(null::commit_item, p_items->0);
    l := lock_heads(array[i.id], p_skip);
    if l.ids is not null then
      perform set_config('app.organization', l.organizations[1]::text, true), set_config('app.project', l.projects[1]::text, true);
      h := commit_head(i);
      if h.id is not null then
        o_id := h.id; o_outcome := 'applied'; o_sequence := h.sequence;
        return next;
        return;
      end if;
    end if;
  end if;
  if jsonb_path_exists(p_items, '$[*].feature') then held := lock_aggregates(p_items, p_skip); end if;
  if jsonb_path_exists(p_items, '$[*].calls[*].gate.identity') then revoking := lock_identities(p_items, p_skip); end if;
  l := lock_heads(array(select (v->>'id')::uuid from jsonb_array_elements(p_items) v where not (v->>'id')::uuid = any (revoking)), p_skip);
  if held is null and cardinality(l.ids) = jsonb_array_length(p_items) and l.organizations[1] = all (l.organizations) and l.projects[1] = all (l.projects) then
    -- One tenant's and whole, as most batches are: nothing has to be sorted out.
    perform set_config('app.organization', l.organizations[1]::text, true), set_config('app.project', l.projects[1]::text, true);
    return query select * from commit_tenant(p_items, l.ids);
    return;
  end if;
  for t in
    select k.organization_id, k.project_id, jsonb_agg(e.v) as items, array_agg(k.id) as ids
    from unnest(l.ids, l.organizations, l.projects) k(id, organization_id, project_id) join jsonb_array_elements(p_items) e(v) on (e.v->>'id')::uuid = k.id
    where not e.v ? 'feature' or (e.v->>'feature' || ':' || (e.v->>'aggregate')) = any (held)
    group by 1, 2
  loop
    perform set_config('app.organization', t.organization_id::text, true), set_config('app.project', t.project_id::text, true);
    return query select * from commit_tenant(t.items, t.ids);
    answered := answered || t.ids;
  end loop;
  return query select (v->>'id')::uuid, case when p_skip then 'busy' else 'gone' end, null::int, null::jsonb from jsonb_array_elements(p_items) v where not (v->>'id')::uuid = any (answered);
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.commit_calls(p_items jsonb, p_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
begin
  with call as materialized (
    select x.id, x.organization_id, x.project_id, x.subject_id, x.generation, m.*
    from execution x join jsonb_populate_recordset(null::commit_item, p_items) i on i.id = x.id
    cross join jsonb_to_recordset(i.calls) m(step int, name text, attempt int, "to" text, move jsonb, kind text, safety text, key text, input text, result text, category text, error uuid, usage jsonb, decided text, unknown text, limited boolean)
    where x.id = any (p_ids)),
  moved as (
    update execution_call c set state = m."to", generation = m.generation, result = coalesce(decode(m.result, 'base64'), c.result),
      failure_category = coalesce(m.category, c.failure_category), error_id = coalesce(m.error, c.error_id), decided = coalesce(m.decided, c.decided),
      ended_at = case when m."to" in ('intent', 'sending') then null else clock_timestamp() end
    from call m where c.execution_id = any (p_ids) and m.move is not null and c.execution_id = m.id and c.step = m.step and c.name = m.name and c.attempt = m.attempt),
  made as (
    insert into execution_call (execution_id, organization_id, project_id, step, name, attempt, generation, kind, safety, provider_key, state, on_unknown, limited, input, failure_category, ended_at)
    select m.id, m.organization_id, m.project_id, m.step, m.name, m.attempt, m.generation, m.kind, m.safety, m.key, m."to", m.unknown, coalesce(m.limited, false), decode(m.input, 'base64'), m.category,
      case when m."to" in ('intent', 'sending') then null else clock_timestamp() end from call m where m.move is null)
  insert into usage_entry as e (execution_id, step, name, attempt, organization_id, project_id, subject_id, source, provider, model, status,
      input_tokens, output_tokens, cached_input_tokens, cache_write_tokens, reasoning_tokens, estimated_input_tokens)
    select m.id, m.step, m.name, coalesce(u.attempt, m.attempt), m.organization_id, m.project_id, m.subject_id, u.source, u.provider, u.model, u.status,
      u."inputTokens", u."outputTokens", u."cachedInputTokens", u."cacheWriteTokens", u."reasoningTokens", u."estimatedInputTokens"
    from call m cross join jsonb_to_record(m.usage) u(attempt int, source text, provider text, model text, status text, "inputTokens" bigint, "outputTokens" bigint, "cachedInputTokens" bigint,
      "cacheWriteTokens" bigint, "reasoningTokens" bigint, "estimatedInputTokens" bigint)
    where m.usage is not null
    on conflict (execution_id, step, name, attempt) do update set status = excluded.status, input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
      cached_input_tokens = excluded.cached_input_tokens, cache_write_tokens = excluded.cache_write_tokens, reasoning_tokens = excluded.reasoning_tokens
      where e.status <> 'confirmed' and excluded.status = 'confirmed';
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.commit_children(p_items jsonb, p_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform admit_executions(jsonb_agg(c.v || jsonb_build_object('parent', i.v->>'id')))
    from jsonb_array_elements(p_items) i(v) cross join jsonb_array_elements(i.v->'children') c(v) where (i.v->>'id')::uuid = any (p_ids) having count(*) > 0;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.commit_feature(h execution, i commit_item)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  execute format('select %I($1, $2, $3)', 'feature_rows_' || i.feature) using h, i.aggregate, i.rows;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.commit_fence(h execution, t jsonb)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare i commit_item := jsonb_populate_record(null::commit_item, t);
begin
  -- A head at n or beyond in my generation and after my claim: only I move the number, so commit n is in.
  if not fence_holds(h, i) then return case when h.generation = i.g and h.last_claim_id = i.claim and h.commit_number >= i.n then 'already' else 'refused' end; end if;
  if i.calls is not null and h.id = any (refused_calls(jsonb_build_array(t), array[h.id])) then return 'refused'; end if;
  return null;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.commit_head(i commit_item)
 RETURNS execution
 LANGUAGE plpgsql
AS $function$
declare m execution;
begin
  update execution x set commit_number = i.n, workflow_version = coalesce(i.version, x.workflow_version), sequence = x.sequence + jsonb_array_length(i.events), state = i."to", cursor = coalesce(i.cursor, x.cursor), stalls = case when i.idle then x.stalls else 0 end,
      owner = case when i."do" = 'keep' then x.owner end, epoch = case when i."do" = 'keep' then x.epoch end, claim_id = case when i."do" = 'keep' then x.claim_id end,
      runnable_at = case when i."do" = 'yield' then '-infinity'::timestamptz when i."do" in ('wait', 'park') then case when i."to" <> 'waiting' or i.expired or (x.deadline is null and x.budget_ms is null) then i.until else least(i.until, wait_expiry(x, i.human is true)) end end, wait_until = case when i."do" = 'wait' then i.until else x.wait_until end,
      ran_ms = case when i.human or i."do" in ('yield', 'end') then work_clock(x) else x.ran_ms end, ran_from = case when i.human or i."do" in ('yield', 'end') then null else x.ran_from end,
      expired_at = case when i.expired then coalesce(x.expired_at, clock_timestamp()) else x.expired_at end,
      ended_at = case when i."do" = 'end' then clock_timestamp() end, ending = coalesce(x.ending, i.ending),
      failure_category = coalesce(i.category, x.failure_category), error_id = coalesce(i.error, x.error_id) where x.id = i.id and fence_holds(x, i) returning * into m;
  if m.id is not null and jsonb_array_length(i.events) > 0 then 
    insert into execution_event (execution_id, sequence, organization_id, project_id, claim_id, commit_number, position, type, step, attempt, state, body)
    select m.id, m.sequence - jsonb_array_length(i.events) + e.ord, m.organization_id, m.project_id, i.claim, i.n, e.ord, e.v->>'t', (e.v->>'step')::int, (e.v->>'attempt')::int, e.v->>'state', decode(e.v->>'b', 'base64') from jsonb_array_elements(i.events) with ordinality e(v, ord); end if;
  if m.member_id is not null and m.state = any ('{completed,failed,cancelled,interrupted,outcome_unknown}') and not i."from" ? m.state then 
    insert into product_event_inbox (organization_id, project_id, member_id, type, aggregate_id, aggregate_sequence, data)
    select m.organization_id, m.project_id, m.member_id, 'execution.' || m.state, m.id, m.sequence,
      jsonb_strip_nulls(jsonb_build_object('workflow', m.workflow, 'category', m.failure_category, 'error', m.error_id)); end if;
  return m;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.commit_heads(p_items jsonb, p_ids uuid[], p_more boolean)
 RETURNS TABLE(id uuid, sequence integer, head execution, item commit_item)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
begin
  return query
  with moved as (
    update execution x set commit_number = i.n, workflow_version = coalesce(i.version, x.workflow_version), sequence = x.sequence + jsonb_array_length(i.events), state = i."to", cursor = coalesce(i.cursor, x.cursor), stalls = case when i.idle then x.stalls else 0 end,
      owner = case when i."do" = 'keep' then x.owner end, epoch = case when i."do" = 'keep' then x.epoch end, claim_id = case when i."do" = 'keep' then x.claim_id end,
      runnable_at = case when i."do" = 'yield' then '-infinity'::timestamptz when i."do" in ('wait', 'park') then case when i."to" <> 'waiting' or i.expired or (x.deadline is null and x.budget_ms is null) then i.until else least(i.until, wait_expiry(x, i.human is true)) end end, wait_until = case when i."do" = 'wait' then i.until else x.wait_until end,
      ran_ms = case when i.human or i."do" in ('yield', 'end') then work_clock(x) else x.ran_ms end, ran_from = case when i.human or i."do" in ('yield', 'end') then null else x.ran_from end,
      expired_at = case when i.expired then coalesce(x.expired_at, clock_timestamp()) else x.expired_at end,
      ended_at = case when i."do" = 'end' then clock_timestamp() end, ending = coalesce(x.ending, i.ending),
      failure_category = coalesce(i.category, x.failure_category), error_id = coalesce(i.error, x.error_id) from jsonb_populate_recordset(null::commit_item, p_items) i where x.id = any (p_ids) and x.id = i.id and fence_holds(x, i)
    returning x.id, x.organization_id, x.project_id, x.sequence, x.state, x.member_id, x.workflow, x.failure_category, x.error_id, i.events, i."from", i.claim, i.n,
      case when p_more then x end as head, case when p_more then i end as item),
  logged as (
    insert into execution_event (execution_id, sequence, organization_id, project_id, claim_id, commit_number, position, type, step, attempt, state, body)
    select m.id, m.sequence - jsonb_array_length(m.events) + e.ord, m.organization_id, m.project_id, m.claim, m.n, e.ord, e.v->>'t', (e.v->>'step')::int, (e.v->>'attempt')::int, e.v->>'state', decode(e.v->>'b', 'base64')
    from moved m cross join lateral jsonb_array_elements(m.events) with ordinality e(v, ord)),
  told as (
    insert into product_event_inbox (organization_id, project_id, member_id, type, aggregate_id, aggregate_sequence, data)
    select m.organization_id, m.project_id, m.member_id, 'execution.' || m.state, m.id, m.sequence,
      jsonb_strip_nulls(jsonb_build_object('workflow', m.workflow, 'category', m.failure_category, 'error', m.error_id))
    from moved m where m.member_id is not null and m.state = any ('{completed,failed,cancelled,interrupted,outcome_unknown}') and not m."from" ? m.state)
  select m.id, m.sequence, m.head, m.item from moved m;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.commit_one(t jsonb, OUT o_outcome text, OUT o_sequence integer)
 RETURNS record
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
begin
  select c.o_outcome, c.o_sequence into o_outcome, o_sequence from commit_tenant(jsonb_build_array(t), array[(t->>'id')::uuid]) c;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.commit_tenant(p_items jsonb, p_ids uuid[])
 RETURNS TABLE(o_id uuid, o_outcome text, o_sequence integer, o_gate jsonb)
 LANGUAGE plpgsql
AS $function$
declare h execution; i commit_item; r record; g record; passed uuid[] := p_ids; applied uuid[] := '{}'; sequences int[];
  more boolean := jsonb_path_exists(p_items, '$[*] ? (exists(@.feature) || exists(@.calls) || exists(@.consume) || exists(@.children) || exists(@.parent) || exists(@.notes))');
  calls boolean := more and jsonb_path_exists(p_items, '$[*].calls'); gates boolean := calls and jsonb_path_exists(p_items, '$[*].calls[*].gate');
begin
  if calls then passed := array(select unnest(p_ids) except select unnest(refused_calls(p_items, p_ids))); end if;
  if jsonb_array_length(p_items) = 1 then
    i := jsonb_populate_record(null::commit_item, p_items->0);
    if i.id = any (passed) then h := commit_head(i); end if;
    if h.id is not null then
      applied := array[h.id];
      if i.feature is not null then perform commit_feature(h, i); end if;
      if i.parent is not null and h.ended_at is not null then perform end_child(h, i.notice); end if;
      if gates then
        g := pass_gate(h, i.calls);
        o_gate := g.o_gate; p_items := jsonb_set(p_items, '{0,calls}', g.o_calls);
      end if;
      o_id := h.id; o_outcome := 'applied'; o_sequence := h.sequence;
      return next;
    end if;
  elsif not more then
    select array_agg(c.id), array_agg(c.sequence) into applied, sequences from commit_heads(p_items, passed, false) c;
    return query select a.id, 'applied', a.sequence, null::jsonb from unnest(applied, sequences) a(id, sequence);
  else
    for r in select * from commit_heads(p_items, passed, true) loop
      o_id := r.id; o_outcome := 'applied'; o_sequence := r.sequence;
      applied := applied || o_id;
      if (r.item).feature is not null then perform commit_feature(r.head, r.item); end if;
      if (r.item).parent is not null and (r.head).ended_at is not null then perform end_child(r.head, (r.item).notice); end if;
      o_gate := null;
      if gates and jsonb_path_exists((r.item).calls, '$[*].gate') then
        g := pass_gate(r.head, (r.item).calls);
        o_gate := g.o_gate;
        if o_gate is not null then
          p_items := (select jsonb_agg(case when v->>'id' = o_id::text then jsonb_set(v, '{calls}', g.o_calls) else v end) from jsonb_array_elements(p_items) v);
        end if;
      end if;
      return next;
    end loop;
  end if;
  if more and cardinality(applied) > 0 then
    if calls then perform commit_calls(p_items, applied); end if;
    if calls and jsonb_path_exists(p_items, '$[*].calls[*].limited') then perform release_limits(p_items, applied); end if;
    if jsonb_path_exists(p_items, '$[*].notes') then perform write_notes(p_items, applied); end if;
    if jsonb_path_exists(p_items, '$[*].consume') then perform consume_signals(p_items, applied); end if;
    if jsonb_path_exists(p_items, '$[*].children') then perform commit_children(p_items, applied); end if;
  end if;
  if coalesce(cardinality(applied), 0) < cardinality(p_ids) then
    for o_id, o_outcome, o_sequence, o_gate in
      select l.id, case when x.id is null then 'gone' else coalesce(commit_fence(x, v), 'refused') end, x.sequence, case when gates then stored_gate(l.id, v->'calls') end
      from unnest(p_ids) l(id) join jsonb_array_elements(p_items) v on (v->>'id')::uuid = l.id left join (select * from execution y where y.id = any (p_ids)) x on x.id = l.id
      where not coalesce(l.id = any (applied), false)
    loop return next; end loop;
  end if;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.consume_signals(p_items jsonb, p_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
begin
  update execution_signal s set consumed = i.n from jsonb_populate_recordset(null::commit_item, p_items) i cross join jsonb_to_recordset(i.consume) c(name text, number int)
    where s.execution_id = any (p_ids) and s.execution_id = i.id and s.name = c.name and s.number = c.number;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.count_children(p_parents uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
declare counted int;
begin
  update execution x set open_children = x.open_children + c.n from (select p.id, count(*)::int as n from unnest(p_parents) p(id) group by 1) c
    where x.id = any (p_parents) and x.id = c.id and x.ended_at is null and x.ending is null;
  get diagnostics counted = row_count;
  if counted < (select count(distinct p) from unnest(p_parents) p) then raise exception 'the parent takes no more children' using errcode = 'check_violation'; end if;
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.database_timeline()
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if pg_is_in_recovery() then return null; end if;
  return (pg_control_system()).system_identifier || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8);
exception when insufficient_privilege or feature_not_supported or object_not_in_prerequisite_state then return null;
end $function$

owner openbot_engine;
grant execute to openbot_app;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.decide_call(p_id uuid, p_step integer, p_name text, p_attempt integer, p_decision text, p_result bytea)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  perform 1 from execution x where x.id = p_id for no key update;
  update execution_call c set decided = p_decision, state = case p_decision when 'result' then 'succeeded' else 'unknown' end, result = coalesce(p_result, c.result), ended_at = clock_timestamp()
    where c.execution_id = p_id and c.step = p_step and c.name = p_name and c.attempt = p_attempt and c.state = 'unknown' and c.decided is null;
  if not found then return false; end if;
  perform send_signal(p_id, 'decision', null, null);
  return true;
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.doctor_abandoned_leases(p_limit integer)
 RETURNS TABLE(found bigint, examples uuid[], more boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  return query
  with held as (select l.id, l.owner, l.process from resource_lease l where l.closed_at is null and l.state <> 'unknown' limit p_limit),
  holder as materialized (select o.owner, o.process, lease_holder_lives(o.owner, o.process) as lives from (select distinct h.owner, h.process from held h) o)
  select count(*), (array_agg(h.id order by h.id))[1:5], (select count(*) = p_limit from held)
    from held h join holder o on o.owner = h.owner and o.process is not distinct from h.process where not o.lives;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.doctor_children(p_recent integer)
 RETURNS TABLE(found bigint, examples uuid[])
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  return query
  with looked_at as (
    (select x.id, x.parent_id from execution x order by x.id desc limit p_recent)
    union (select x.id, x.parent_id from execution x where x.owner is not null limit p_recent)
    union (select x.id, x.parent_id from execution x where x.ended_at is null and x.owner is null and x.runnable_at is null order by x.id limit p_recent)),
  family as (select l.id from looked_at l union select l.parent_id from looked_at l where l.parent_id is not null),
  broken as (
    select x.id from family f join execution x on x.id = f.id cross join lateral (
      select count(*) as open from execution c where c.organization_id = x.organization_id and c.project_id = x.project_id and c.parent_id = x.id and c.attached and c.ended_at is null) c
    where x.open_children <> c.open)
  select count(*), (array_agg(b.id order by b.id))[1:5] from broken b;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.doctor_gaps(p_recent integer, p_depth integer)
 RETURNS TABLE(found bigint, examples uuid[])
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  return query
  with looked_at as (
    (select x.id, x.sequence from execution x order by x.id desc limit p_recent)
    union (select x.id, x.sequence from execution x where x.owner is not null limit p_recent)),
  broken as (
    select l.id from looked_at l cross join lateral (select count(*) as events, max(e.sequence) as last from execution_event e where e.execution_id = l.id and e.sequence > l.sequence - p_depth) e
    where e.events <> least(l.sequence, p_depth) or coalesce(e.last, 0) <> l.sequence)
  select count(*), (array_agg(b.id order by b.id))[1:5] from broken b;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.doctor_leases(p_limit integer)
 RETURNS TABLE(found bigint, examples uuid[], more boolean, oldest_seconds double precision)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  return query
  with unsettled as (
    select l.id, coalesce(l.closing_at, l.opened_at) as since from resource_lease l where l.closed_at is null and l.state = any ('{unknown,close_failed}') limit p_limit)
  select count(*), (array_agg(u.id order by u.since))[1:5], count(*) = p_limit, extract(epoch from clock_timestamp() - min(u.since))::double precision from unsettled u;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.doctor_owned_by(p_owner text, p_epoch bigint)
 RETURNS TABLE(found bigint, examples uuid[])
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  return query select count(*), (array_agg(x.id order by x.id))[1:5] from execution x where x.owner = p_owner and x.epoch = p_epoch;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.doctor_parked(p_limit integer)
 RETURNS TABLE(found bigint, examples uuid[], more boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
declare parked uuid[]; woken uuid[]; w record; known uuid[]; waker text;
begin
  parked := array(select x.id from execution x where x.ended_at is null and x.owner is null and x.runnable_at is null order by x.id limit p_limit + 1);
  more := cardinality(parked) > p_limit;
  parked := parked[1:p_limit];
  woken := array(select distinct c.execution_id from execution_call c where c.execution_id = any (parked) and c.state = 'unknown' and c.decided is null)
    || array(select x.id from execution x where x.id = any (parked) and x.open_children > 0
      and exists (select 1 from execution c where c.organization_id = x.organization_id and c.project_id = x.project_id and c.parent_id = x.id and c.attached and c.ended_at is null));
  for w in select x.workflow, array_agg(x.id) as ids from execution x where x.id = any (parked) and x.state = any ('{queued,waiting}') group by 1 loop
    waker := 'public.' || quote_ident('feature_waker_' || w.workflow);
    continue when to_regprocedure(waker || '(uuid[])') is null;
    execute 'select ' || waker || '($1)' into known using w.ids;
    woken := woken || known;
  end loop;
  return query select count(*), (array_agg(p.id order by p.id))[1:5], more from unnest(parked) p(id) where not p.id = any (woken);
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.doctor_permits(p_limit integer, p_seconds double precision)
 RETURNS TABLE(found bigint, examples uuid[], more boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  return query
  with taken as (select p.execution_id, p.step, p.name, p.attempt, p.state, p.expires_at from permit p order by p.execution_id limit p_limit),
  kept as (
    select t.execution_id from taken t where t.state <> 'freed' and case when t.expires_at is not null then t.expires_at < clock_timestamp() - make_interval(secs => p_seconds)
      else not exists (select 1 from execution_call c
        where c.execution_id = t.execution_id and c.step = t.step and c.name = t.name and c.attempt = t.attempt and c.state = any ('{intent,sending}')) end)
  select count(*), (array_agg(distinct k.execution_id))[1:5], (select count(*) = p_limit from taken) from kept k;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.doctor_purges(p_limit integer, p_seconds double precision)
 RETURNS TABLE(found bigint, examples uuid[], more boolean, oldest_seconds double precision)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  return query
  with open as (select p.id, p.state, p.requested_at, p.moved_at from project_purge p where p.completed_at is null order by p.moved_at limit p_limit)
  select count(*), (array_agg(o.id order by o.requested_at))[1:5], (select count(*) = p_limit from open), extract(epoch from clock_timestamp() - min(o.requested_at))::double precision
    from open o where o.state = 'leftovers' or o.moved_at < clock_timestamp() - make_interval(secs => p_seconds);
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.doctor_ready(p_limit integer, p_seconds double precision)
 RETURNS TABLE(found bigint, examples uuid[], more boolean, oldest_seconds double precision)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  return query
  with ready as (select x.id, x.runnable_at, x.created_at from execution x where x.runnable_at <= now() and x.owner is null order by x.runnable_at limit p_limit),
  aged as (
    select r.id, extract(epoch from clock_timestamp() - case when r.runnable_at > '-infinity' then r.runnable_at else greatest(r.created_at,
      (select e.created_at from execution_event e where e.execution_id = r.id order by e.sequence desc limit 1),
      (select max(s.created_at) from execution_signal s where s.execution_id = r.id and s.consumed is null)) end)::double precision as seconds from ready r)
  select count(*) filter (where a.seconds > p_seconds), (array_agg(a.id order by a.seconds desc) filter (where a.seconds > p_seconds))[1:5], count(*) = p_limit, max(a.seconds) from aged a;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.doctor_unknown(p_limit integer)
 RETURNS TABLE(found bigint, examples uuid[], more boolean, oldest_seconds double precision)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  return query
  with waiting as (select x.id from execution x where x.ended_at is null and x.owner is null and x.runnable_at is null and x.state = 'outcome_unknown' order by x.id limit p_limit),
  call as (select c.execution_id, c.created_at from execution_call c where c.execution_id in (select w.id from waiting w) and c.state = 'unknown' and c.decided is null)
  select count(*), (array_agg(distinct c.execution_id))[1:5], (select count(*) = p_limit from waiting), extract(epoch from clock_timestamp() - min(c.created_at))::double precision from call c;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.doctor_unlinked(p_limit integer, p_seconds double precision)
 RETURNS TABLE(found bigint, more boolean, oldest_seconds double precision)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  return query select count(*) filter (where i.seconds > p_seconds), count(*) = p_limit, max(i.seconds)
    from (select extract(epoch from clock_timestamp() - y.at)::double precision as seconds from audit_inbox y order by y.number limit p_limit) i;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.doctor_unnumbered(p_limit integer, p_seconds double precision)
 RETURNS TABLE(found bigint, more boolean, oldest_seconds double precision)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  return query select count(*) filter (where i.seconds > p_seconds), count(*) = p_limit, max(i.seconds)
    from (select extract(epoch from clock_timestamp() - y.created_at)::double precision as seconds from product_event_inbox y order by y.id limit p_limit) i;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.end_child(h execution, p_notice text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if h.attached then update execution x set open_children = x.open_children - 1 where x.id = h.parent_id; end if;
  perform send_signal(h.parent_id, 'child-ended', null, decode(p_notice, 'base64'));
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.exclude_writers(p_project uuid)
 RETURNS void
 LANGUAGE sql
AS $function$
  select pg_advisory_xact_lock(hashtextextended('openbot:project:' || tenant_organization() || p_project, 0))
$function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.execution_is_here(p_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
begin
  return exists (select from execution x where x.id = p_id);
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.feature_lock_chat(p_ids uuid[], p_skip boolean)
 RETURNS uuid[]
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare got uuid[];
begin
  if p_skip then
    select coalesce(array_agg(l.id), '{}') into got from (select x.id from chat x where x.id = any (p_ids) order by x.id for no key update skip locked) l;
  else
    select coalesce(array_agg(l.id), '{}') into got from (select x.id from chat x where x.id = any (p_ids) order by x.id for no key update) l;
  end if;
  return got;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.feature_rows_chat(h execution, p_aggregate uuid, p_rows jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare c chat; added int := jsonb_array_length(coalesce(p_rows->'items', '[]')); turn uuid := (p_rows->>'turn')::uuid;
begin
  select * into c from chat x where x.id = p_aggregate;
  if c.id is null or h.subject_id is distinct from c.id then raise exception 'a turn of another chat' using errcode = 'integrity_constraint_violation'; end if;
  if c.running_turn_id is distinct from turn then raise exception 'a turn that does not advance' using errcode = 'integrity_constraint_violation'; end if;
  if added > 0 and c.item_count <> (p_rows->>'itemCount')::int then raise exception 'items after place %, not %', c.item_count, p_rows->>'itemCount' using errcode = 'integrity_constraint_violation'; end if;

  insert into chat_item (organization_id, project_id, chat_id, seq, id, turn_id, step, input_id, content, notice_kind, notice_ref)
    select h.organization_id, h.project_id, c.id, c.item_count + e.ord, (e.v->>'id')::uuid, turn, (e.v->>'step')::int, (e.v->>'input')::uuid, decode(e.v->>'content', 'base64'), e.v->>'notice', e.v->>'ref'
    from jsonb_array_elements(coalesce(p_rows->'items', '[]')) with ordinality e(v, ord);
  if p_rows ? 'inputs' then
    update chat_input i set taken_at = clock_timestamp(), taken_step = (p_rows->>'step')::int where i.turn_id = turn and i.taken_at is null and i.id in (select v::uuid from jsonb_array_elements_text(p_rows->'inputs') v);
  end if;
  update chat_turn t set steps = (p_rows->>'steps')::int, usage = nullif(p_rows->'usage', 'null'), item_count = t.item_count + added, first_seq = case when t.item_count = 0 then c.item_count + 1 else t.first_seq end,
    state = case when t.state = 'queued' then 'running' else t.state end, started_at = coalesce(t.started_at, clock_timestamp()) where t.id = turn;
  update chat x set revision = x.revision + 1, item_count = x.item_count + added,
    todos = case when p_rows ? 'todos' then decode(p_rows->'todos'->>'body', 'base64') else x.todos end,
    todos_open = case when p_rows ? 'todos' then (p_rows->'todos'->>'open')::int else x.todos_open end,
    todos_version = x.todos_version + (p_rows ? 'todos')::int where x.id = c.id;
  if p_rows ? 'secret' then perform tell_secret_use(h, (select t.author_member_id from chat_turn t where t.id = turn), p_rows->'secret'); end if;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.feature_waker_interrupt(p_ids uuid[])
 RETURNS uuid[]
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
  select array(select x.id from execution x join chat c on c.id = x.subject_id where x.id = any (p_ids) and c.running_turn_id::text = x.cursor->>'turnId')
$function$

owner openbot_engine;

CREATE OR REPLACE FUNCTION public.feature_waker_turn(p_ids uuid[])
 RETURNS uuid[]
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
  select array(select x.id from execution x join chat c on c.id = x.subject_id
    where x.id = any (p_ids) and x.state = 'queued' and c.running_turn_id is not null and c.running_turn_id::text <> x.cursor->>'turnId')
$function$

owner openbot_engine;

CREATE OR REPLACE FUNCTION public.fence_holds(h execution, i commit_item)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(h.generation = i.g and h.owner = i.owner and h.epoch = i.epoch and h.claim_id = i.claim and h.commit_number = i.n - 1 and i."from" ? h.state
    and (i.cancel is null or h.cancel_number = i.cancel) and (i.seen is null or h.signal_count = i.seen)
    and (i."do" <> 'end' or (h.open_children = 0 and h.parent_id is not distinct from i.parent)), false)
$function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.find_error_record(p_id uuid)
 RETURNS SETOF error_record
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
        select * from error_record where id = p_id
      $function$

owner openbot_engine;
grant execute to openbot_owner;

CREATE OR REPLACE FUNCTION public.find_lease(p_id uuid)
 RETURNS TABLE(id uuid, organization_id uuid, project_id uuid, kind text, resource text, execution_id uuid, owner text, state text, error_id uuid, opened_at timestamp with time zone, closing_at timestamp with time zone, closed_at timestamp with time zone, released_by text, holder_lives boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  return query select l.id, l.organization_id, l.project_id, l.kind, l.resource, l.execution_id, l.owner, l.state, l.error_id, l.opened_at, l.closing_at, l.closed_at, l.released_by,
    l.closed_at is null and lease_holder_lives(l.owner, l.process) from resource_lease l where l.id = p_id;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.grant_permits()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare l record; served int := 0;
begin
  for l in select p.organization_id, p.limit_name from permit p where p.state = 'freed'
    union select p.organization_id, p.limit_name from permit p where p.expires_at <= clock_timestamp() and p.state = 'held' order by 1, 2
  loop
    perform 1 from call_limit c where c.organization_id = l.organization_id and c.name = l.limit_name for no key update;
    perform grant_places(l.organization_id, l.limit_name);
    served := served + 1;
  end loop;
  return served;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.grant_places(p_organization uuid, p_limit text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare room int;
begin
  delete from permit p where p.organization_id = p_organization and p.limit_name = p_limit and (p.state = 'freed' or (p.state = 'held' and p.expires_at <= clock_timestamp()));
  select l.size - (select count(*) from permit p where p.organization_id = p_organization and p.limit_name = p_limit and p.state = 'held') into room
    from call_limit l where l.organization_id = p_organization and l.name = p_limit;
  if room > 0 then
    update permit p set state = 'held' from (
      select w.execution_id, w.step, w.name, w.attempt from permit w where w.organization_id = p_organization and w.limit_name = p_limit and w.state = 'waiting' order by w.number limit room) n
    where p.execution_id = n.execution_id and p.step = n.step and p.name = n.name and p.attempt = n.attempt;
  end if;
end $function$

owner openbot_owner;
grant execute to openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.hold_member(p_member uuid)
 RETURNS void
 LANGUAGE sql
AS $function$
  select pg_advisory_xact_lock_shared(hashtextextended('openbot:member:' || p_member, 0))
$function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.hold_project()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('openbot:project:' || tenant_organization() || tenant_project(), 0));
  if exists (select from project_purge p where p.organization_id = tenant_organization() and p.id = tenant_project()) then
    raise exception 'the project is being deleted' using errcode = 'OB001';
  end if;
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.keep_audit()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  if tg_op = 'DELETE' and current_user = 'openbot_engine' then
    if current_setting('app.audit_purge', true) = old.project_id::text then return old; end if;
  end if;
  raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
end $function$

owner openbot_owner;

CREATE OR REPLACE FUNCTION public.late_result(p_organization uuid, p_project uuid, p_id uuid, p_call jsonb)
 RETURNS text
 LANGUAGE plpgsql
 SET "app.organization" TO ''
 SET "app.project" TO ''
AS $function$
declare h execution; c execution_call; known boolean := p_call->>'to' in ('succeeded', 'failed');
begin
  perform set_config('app.organization', p_organization::text, true), set_config('app.project', p_project::text, true);
  select * into h from execution x where x.id = p_id for no key update;
  if not found then return 'gone'; end if;
  c := call_of(p_id, (p_call->>'step')::int, p_call->>'name', (p_call->>'attempt')::int);
  if c.state is null then return 'gone'; end if;
  -- Whatever becomes of it: nothing of this call is outside any more.
  if known then update permit p set state = 'freed', expires_at = null where p.execution_id = p_id and p.step = c.step and p.name = c.name and p.attempt = c.attempt; end if;
  if h.ended_at is null and c.decided is null and c.state in ('sending', 'unknown') then
    perform commit_calls(jsonb_build_array(jsonb_build_object('id', p_id, 'calls', jsonb_build_array(p_call || '{"move":[]}'))), array[p_id]);
    perform release_limits(jsonb_build_array(jsonb_build_object('id', p_id, 'calls', jsonb_build_array(p_call))), array[p_id]);
    if known then update execution_call x set late = true where x.execution_id = p_id and x.step = c.step and x.name = c.name and x.attempt = c.attempt; end if;
    perform send_signal(p_id, 'call-result', null, null);
    return 'stored';
  end if;
  if c.late or not known or (c.state in ('succeeded', 'failed') and c.decided is null) then return 'already'; end if;
  perform commit_calls(jsonb_build_array(jsonb_build_object('id', p_id, 'calls',
    jsonb_build_array((p_call - 'category' - 'error' - case when c.result is null then '' else 'result' end) || jsonb_build_object('move', '[]'::jsonb, 'to', c.state)))), array[p_id]);
  update execution_call x set late = true, generation = c.generation, ended_at = c.ended_at where x.execution_id = p_id and x.step = c.step and x.name = c.name and x.attempt = c.attempt;
  return 'history';
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.lease_holder_lives(p_owner text, p_process uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return node_lives(p_owner) and coalesce((select n.process = p_process from node n where n.name = p_owner), true);
end $function$

owner openbot_owner;
grant execute to openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.link_audit(p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare c record; found int := 0;
begin
  for c in select distinct o.organization_id, o.chain_id, o.project_id from (select * from audit_inbox i order by i.number limit p_limit) o order by 1, 2 loop
    found := found + link_audit_chain(c.organization_id, c.project_id, p_limit);
  end loop;
  return found;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.link_audit_chain(p_organization uuid, p_project uuid, p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare h audit_head; x audit_inbox; found int := 0; chain uuid := coalesce(p_project, p_organization);
begin
  insert into audit_head (organization_id, project_id) values (p_organization, p_project) on conflict do nothing;
  select * into h from audit_head a where a.organization_id = p_organization and a.chain_id = chain for no key update;
  for x in
    with oldest as materialized (
      select i.number from audit_inbox i where i.organization_id = p_organization and i.chain_id = chain order by i.number limit p_limit),
    taken as (delete from audit_inbox i using oldest o where i.number = o.number returning i.*)
    select * from taken t order by t.number
  loop
    found := found + 1;
    continue when exists (select from audit_entry e where e.organization_id = x.organization_id and e.id = x.id);
    h.length := h.length + 1;
    h.hash := sha256(h.hash || convert_to(audit_text(x, h.length), 'UTF8'));
    insert into audit_entry (organization_id, project_id, id, at, action, outcome, actor_kind, member_id, credential_kind, credential_id, on_behalf_of, service,
        target_kind, target_id, address, detail, sequence, hash)
      values (x.organization_id, x.project_id, x.id, x.at, x.action, x.outcome, x.actor_kind, x.member_id, x.credential_kind, x.credential_id, x.on_behalf_of, x.service,
        x.target_kind, x.target_id, x.address, x.detail, h.length, h.hash);
  end loop;
  update audit_head a set length = h.length, hash = h.hash where a.organization_id = p_organization and a.chain_id = chain and a.length < h.length;
  return found;
end $function$

owner openbot_engine;

CREATE OR REPLACE FUNCTION public.list_owners()
 RETURNS TABLE(owner text, epoch bigint, held bigint)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  return query select x.owner, x.epoch, count(*) from execution x where x.owner is not null group by x.owner, x.epoch;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.load_work(p_organization uuid, p_project uuid, p_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET "app.organization" TO ''
 SET "app.project" TO ''
AS $function$
declare found_signals jsonb; found_calls jsonb; head jsonb; generation int;
begin
  perform set_config('app.organization', p_organization::text, true), set_config('app.project', p_project::text, true);
  select jsonb_build_object('state', x.state, 'claim', x.claim_id, 'signalCount', x.signal_count, 'cancelNumber', x.cancel_number, 'commitNumber', x.commit_number, 'openChildren', x.open_children,
    'announced', case when x.generation > 1 and x.state = 'running' then (select e.state from execution_event e where e.execution_id = x.id and e.type = 'State' order by e.sequence desc limit 1) end), x.generation into head, generation
    from execution x where x.id = p_id;
  if generation > 1 then perform lose_leases(p_id, generation); end if;
  select coalesce(jsonb_agg(jsonb_build_object('name', s.name, 'number', s.number, 'body', encode(s.body, 'base64')) order by s.created_at, s.name, s.number), '[]') into found_signals
    from execution_signal s where s.execution_id = p_id and s.consumed is null;
  select coalesce(jsonb_agg(to_jsonb(c) - 'result' - 'input' || jsonb_build_object('result', encode(c.result, 'base64'), 'input', case when c.state = 'sending' then encode(c.input, 'base64') end) order by c.step, c.name), '[]') into found_calls
    from calls_of(p_id, null, null, true) c;
  return jsonb_build_object('head', head, 'signals', found_signals, 'calls', found_calls);
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.lock_aggregates(p_items jsonb, p_skip boolean)
 RETURNS text[]
 LANGUAGE plpgsql
AS $function$
declare f record; got uuid[]; held text[] := '{}';
begin
  for f in select v->>'feature' as feature, array_agg(distinct (v->>'aggregate')::uuid) as ids from jsonb_array_elements(p_items) v where v ? 'feature' group by 1 order by 1 loop
    execute format('select %I($1, $2)', 'feature_lock_' || f.feature) using f.ids, p_skip into got;
    held := held || array(select f.feature || ':' || g from unnest(got) g);
  end loop;
  return held;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.lock_heads(p_ids uuid[], p_skip boolean, OUT ids uuid[], OUT organizations uuid[], OUT projects uuid[])
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
begin
  if cardinality(p_ids) = 1 then
    -- One alone has no order.
    if p_skip then
      select array[x.id], array[x.organization_id], array[x.project_id] into ids, organizations, projects from execution x where x.id = p_ids[1] for no key update skip locked;
    else
      select array[x.id], array[x.organization_id], array[x.project_id] into ids, organizations, projects from execution x where x.id = p_ids[1] for no key update;
    end if;
  elsif p_skip then
    select array_agg(l.id), array_agg(l.organization_id), array_agg(l.project_id) into ids, organizations, projects
      from (select x.id, x.organization_id, x.project_id from execution x where x.id = any (p_ids) order by x.id for no key update skip locked) l;
  else
    select array_agg(l.id), array_agg(l.organization_id), array_agg(l.project_id) into ids, organizations, projects
      from (select x.id, x.organization_id, x.project_id from execution x where x.id = any (p_ids) order by x.id for no key update) l;
  end if;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.lock_identities(p_items jsonb, p_skip boolean)
 RETURNS uuid[]
 LANGUAGE plpgsql
AS $function$
declare r record; held uuid[] := '{}';
begin
  for r in select c.v->'gate'->>'identity' as identity, array_agg((i.v->>'id')::uuid) as ids
    from jsonb_array_elements(p_items) i(v) cross join jsonb_array_elements(i.v->'calls') c(v) where c.v->'gate' ? 'identity' group by 1 order by 1
  loop
    if not p_skip then perform pg_advisory_xact_lock_shared(hashtextextended('openbot:identity:' || r.identity, 0));
    elsif not pg_try_advisory_xact_lock_shared(hashtextextended('openbot:identity:' || r.identity, 0)) then held := held || r.ids; end if;
  end loop;
  return held;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.look_around()
 RETURNS TABLE(owners jsonb, nodes jsonb, events boolean, places boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  return query select
    (select coalesce(jsonb_agg(jsonb_build_object('owner', o.owner, 'epoch', o.epoch::text)), '[]') from list_owners() o),
    (select coalesce(jsonb_agg(jsonb_build_object('name', n.name, 'epoch', n.epoch::text, 'beat', n.beat::text)), '[]') from node n),
    exists (select 1 from product_event_inbox),
    exists (select 1 from permit p where p.state = 'freed') or exists (select 1 from permit p where p.state = 'held' and not p.woken)
      or exists (select 1 from permit p where p.expires_at <= clock_timestamp() and p.state = 'held');
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.lose_leases(p_id uuid, p_generation integer)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  with lost as materialized (select l.id from resource_lease l where l.execution_id = p_id and l.closed_at is null and l.generation < p_generation and l.state <> 'unknown' order by l.id for no key update)
  update resource_lease l set state = 'unknown' from lost where l.id = lost.id and l.closed_at is null;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.make_ready(p_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  update execution x set runnable_at = '-infinity' where x.id = p_id and x.owner is null and x.ended_at is null;
  return found;
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.move_lease(p_organization uuid, p_project uuid, p_id uuid, p_state text, p_error uuid)
 RETURNS text
 LANGUAGE plpgsql
 SET "app.organization" TO ''
 SET "app.project" TO ''
AS $function$
declare stored text;
begin
  perform set_config('app.organization', p_organization::text, true), set_config('app.project', p_project::text, true);
  update resource_lease l set state = p_state, error_id = coalesce(l.error_id, p_error), closing_at = case when p_state = 'closing' then clock_timestamp() else l.closing_at end,
    closed_at = case when p_state = 'closed' then clock_timestamp() end where l.id = p_id and l.closed_at is null;
  select l.state into stored from resource_lease l where l.id = p_id;
  return stored;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.next_ready(p_known text[])
 RETURNS TABLE(ready boolean, ready_in_ms double precision, stalled_ready boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  return query select coalesce(bool_or(x.runnable_at <= clock_timestamp()), false), extract(epoch from min(x.runnable_at) filter (where x.runnable_at > '-infinity') - clock_timestamp())::double precision * 1000,
    coalesce(bool_or(x.stalls >= 3 and x.runnable_at <= clock_timestamp()), false)
  from (select y.runnable_at, y.stalls from execution y where y.runnable_at is not null and y.owner is null and y.workflow || ':' || y.workflow_version = any (p_known)
    order by y.runnable_at limit 50) x;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.node_lives(p_name text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return exists (select 1 from pg_locks l where l.locktype = 'advisory' and l.granted and l.objsubid = 1 and l.database = (select d.oid from pg_database d where d.datname = current_database())
    and ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended('openbot:node:' || p_name, 0));
end $function$

owner openbot_owner;
grant execute to openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.open_lease(p_organization uuid, p_project uuid, p jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET "app.organization" TO ''
 SET "app.project" TO ''
AS $function$
declare h execution; l resource_lease;
begin
  perform set_config('app.organization', p_organization::text, true), set_config('app.project', p_project::text, true);
  select * into h from execution x where x.id = (p->>'execution')::uuid for no key update;
  if not coalesce(h.claim_id = (p->>'claim')::uuid and h.generation = (p->>'generation')::int and h.state = 'running' and h.cancel_number = (p->>'cancel')::int, false) then
    return '{"outcome": "refused"}';
  end if;
  loop
    insert into resource_lease as n (id, organization_id, project_id, kind, resource, execution_id, owner, epoch, process, generation)
      values ((p->>'id')::uuid, h.organization_id, h.project_id, p->>'kind', p->>'resource', h.id, h.owner, h.epoch, (p->>'process')::uuid, h.generation) on conflict do nothing;
    if found then return '{"outcome": "registered"}'; end if;
    select * into l from resource_lease y
      where y.organization_id = h.organization_id and y.project_id = h.project_id and y.kind = p->>'kind' and y.resource = p->>'resource' and y.closed_at is null;
    if l.id = (p->>'id')::uuid then return '{"outcome": "registered"}'; end if;
    if l.id is not null then
      return jsonb_build_object('outcome', 'held', 'lease', l.id, 'state', l.state, 'executionId', l.execution_id, 'node', l.owner, 'epoch', l.epoch::text,
        'left', l.state = 'unknown' or exists (select 1 from execution x where x.id = l.execution_id and x.generation > l.generation));
    end if;
  end loop;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.open_work_of(p_members uuid[], p_others uuid[], p_credentials uuid[], p_projects uuid[], p_lock boolean)
 RETURNS TABLE(o_id uuid, o_project uuid, o_identity uuid)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
declare everybody uuid[] := p_members || p_others;
begin
  if p_lock then
    return query select x.id, x.project_id, x.identity_id from execution x
      where x.organization_id = tenant_organization() and x.project_id = any (p_projects) and x.member_id = any (everybody) and x.ended_at is null and (x.identity_id is not null or x.parent_id is not null)
        and (x.member_id = any (p_members) or begun_with(x.id, p_credentials))
      order by x.id for no key update;
  else
    return query select x.id, x.project_id, x.identity_id from execution x
      where x.organization_id = tenant_organization() and x.project_id = any (p_projects) and x.member_id = any (everybody) and x.ended_at is null and (x.identity_id is not null or x.parent_id is not null)
        and (x.member_id = any (p_members) or begun_with(x.id, p_credentials));
  end if;
end $function$

owner openbot_engine;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.organization_name_taken(p_name text)
 RETURNS boolean
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    select exists (select from organization where lower(name) = lower(p_name))
  $function$

owner openbot_engine;
grant execute to openbot_owner;

CREATE OR REPLACE FUNCTION public.outer_clock(p_parent uuid)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare parent execution;
begin
  if p_parent is not null then
    select * into parent from execution x where x.id = p_parent;
    if found then return work_clock(parent); end if;
  end if;
  return (extract(epoch from clock_timestamp()) * 1000)::bigint;
end $function$

owner openbot_owner;
grant execute to openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.parent_stands(h execution)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare parent execution;
begin
  if not h.attached or h.parent_id is null then return false; end if;
  select * into parent from execution x where x.id = h.parent_id;
  return found and (parent.ran_from is null or parent_stands(parent));
end $function$

owner openbot_owner;
grant execute to openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.pass_gate(h execution, p_calls jsonb, OUT o_calls jsonb, OUT o_gate jsonb)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare limited jsonb := jsonb_path_query_first(p_calls, '$[*] ? (exists(@.gate.permit) || exists(@.gate.tokens))');
begin
  o_calls := p_calls;
  if exists (select 1 from identity_revocation r where r.organization_id = h.organization_id and r.identity_id = h.identity_id) then
    o_gate := jsonb_build_object('refused', 'identity_revoked');
  elsif limited is not null then
    o_gate := pass_limits(h, limited);
  end if;
  if o_gate ? 'refused' then
    o_calls := (select jsonb_agg(case when v ? 'gate' then v || jsonb_build_object('to', 'abandoned', 'category', o_gate->'refused', 'unsent', true) else v end) from jsonb_array_elements(p_calls) v);
  elsif o_gate ? 'waits' then
    o_calls := (select jsonb_agg(case when v ? 'gate' then v || '{"to": "intent"}' else v end) from jsonb_array_elements(p_calls) v);
  end if;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.pass_limits(h execution, p_call jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare at timestamptz; gate jsonb := p_call->'gate';
begin
  if (gate->'tokens'->>'amount')::double precision > (gate->'tokens'->>'capacity')::double precision then return '{"refused": "exceeds_bucket"}'; end if;
  if gate ? 'permit' and not take_place(h, p_call) then return '{"waits": true}'; end if;
  if gate ? 'tokens' then at := take_tokens(h, p_call); end if;
  if at > clock_timestamp() then return jsonb_build_object('waits', true, 'until', at); end if;
  return null;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.prove_lease_released(p_organization uuid, p_project uuid, p_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET "app.organization" TO ''
 SET "app.project" TO ''
AS $function$
begin
  perform set_config('app.organization', p_organization::text, true), set_config('app.project', p_project::text, true);
  update resource_lease l set state = 'closed', closed_at = clock_timestamp() where l.id = p_id and l.closed_at is null
    and (l.state = 'unknown' or exists (select 1 from execution x where x.id = l.execution_id and x.generation > l.generation));
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.providers_of_domain(p_domain text)
 RETURNS TABLE(organization_id uuid, organization_name text, provider_id uuid, provider_name text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    select o.id, o.name, p.id, p.name from organization_domain d
      join identity_provider p on p.organization_id = d.organization_id and p.id = d.provider_id and p.enabled and p.deleted_at is null
      join organization o on o.id = d.organization_id
    where d.domain = p_domain and d.verified_at is not null order by d.verified_at, o.id limit 20
  $function$

owner openbot_engine;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.purge_kept_rows(p_table text, p_from bigint, p_to bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare removed bigint;
begin
  if not exists (select from project_purge p where p.organization_id = tenant_organization() and p.id = tenant_project() and p.completed_at is null) then
    raise exception 'this project is not being deleted' using errcode = 'insufficient_privilege';
  end if;
  -- What the audit log asks of whoever removes from it.
  perform set_config('app.audit_purge', tenant_project()::text, true);
  execute format('delete from public.%I where ctid >= $1 and ctid < $2 and organization_id = tenant_organization() and project_id = tenant_project()', p_table)
    using format('(%s,0)', p_from)::tid, format('(%s,0)', p_to)::tid;
  get diagnostics removed = row_count;
  perform set_config('app.audit_purge', '', true);
  return removed;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.read_events(p jsonb)
 RETURNS SETOF execution_event
 LANGUAGE plpgsql
 SET "app.organization" TO ''
 SET "app.project" TO ''
AS $function$
declare t jsonb; r execution_event; room bigint;
begin
  for t in select * from jsonb_array_elements(p) loop
    perform set_config('app.organization', t->>'organization', true), set_config('app.project', t->>'project', true);
    room := coalesce((t->>'bytes')::bigint, 1048576);
    for r in select e.* from execution_event e where e.execution_id = (t->>'id')::uuid and e.sequence > (t->>'after')::int order by e.sequence limit (t->>'limit')::int loop
      return next r;
      room := room - coalesce(octet_length(r.body), 0);
      exit when room <= 0;
    end loop;
  end loop;
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.read_feed(p jsonb)
 RETURNS SETOF product_event
 LANGUAGE plpgsql
 SET "app.organization" TO ''
 SET "app.project" TO ''
AS $function$
declare t jsonb;
begin
  for t in select * from jsonb_array_elements(p) loop
    perform set_config('app.organization', t->>'organization', true), set_config('app.project', t->>'project', true);
    return query select e.* from product_event e where e.organization_id = (t->>'organization')::uuid and e.project_id = (t->>'id')::uuid and e.position > (t->>'after')::bigint
      order by e.position limit (t->>'limit')::int;
  end loop;
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.refused_calls(p_items jsonb, p_ids uuid[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
begin
  return array(select i.id from jsonb_populate_recordset(null::commit_item, p_items) i cross join jsonb_to_recordset(i.calls) m(step int, name text, attempt int, move jsonb)
    left join (select * from execution_call y where y.execution_id = any (p_ids)) c on c.execution_id = i.id and c.step = m.step and c.name = m.name and c.attempt = m.attempt
    where m.move is not null and not coalesce(m.move ? c.state, false));
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.release_executions(p_owner text, p_epoch bigint, p_keep uuid[], p_cost integer)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare n node;
begin
  select * into n from node y where y.name = p_owner;
  return query
  with lost as materialized (
    select x.id from execution x where x.owner = p_owner and (p_epoch is null or x.epoch = p_epoch) and not (x.claim_id = any (p_keep))
    order by x.id for no key update skip locked)
  update execution x set owner = null, epoch = null, claim_id = null, stalls = x.stalls + p_cost,
    runnable_at = case when x.stalls + p_cost >= 3 then clock_timestamp() + make_interval(secs => power(2, least(x.stalls + p_cost, 8))) else '-infinity'::timestamptz end,
    ran_from = null, ran_ms = greatest(x.ran_ms, work_clock(x) - greatest(0, coalesce(
      (extract(epoch from clock_timestamp() - case x.epoch when n.epoch then n.seen_at when n.epoch - 1 then n.last_epoch_seen_at end) * 1000)::bigint, work_clock(x))))
  from lost where x.id = lost.id returning x.id;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.release_lease(p_organization uuid, p_project uuid, p_id uuid, p_by text)
 RETURNS text
 LANGUAGE plpgsql
 SET "app.organization" TO ''
 SET "app.project" TO ''
AS $function$
declare l resource_lease;
begin
  perform set_config('app.organization', p_organization::text, true), set_config('app.project', p_project::text, true);
  select * into l from resource_lease y where y.id = p_id for no key update;
  if not found then return 'gone'; end if;
  if l.closed_at is not null then return case when l.released_by = p_by then 'released' else 'closed' end; end if;
  if lease_holder_lives(l.owner, l.process) then return 'held'; end if;
  update resource_lease y set state = 'closed', closed_at = clock_timestamp(), released_by = p_by where y.id = p_id;
  insert into audit_inbox (organization_id, project_id, id, action, outcome, actor_kind, target_kind, target_id, detail)
    select p.organization_id, p.id, gen_random_uuid(), 'lease.released', 'done', 'operator', 'lease', l.id, '{}' from project p where p.organization_id = l.organization_id and p.id = l.project_id;
  return 'released';
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.release_limits(p_items jsonb, p_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare m record; over boolean;
begin
  for m in select i.id, c.* from jsonb_populate_recordset(null::commit_item, p_items) i
    cross join jsonb_to_recordset(i.calls) c(step int, name text, attempt int, "to" text, limited boolean, unsent boolean, used double precision)
    where i.id = any (p_ids) and c.limited and c."to" = any ('{succeeded,failed,unknown,abandoned}') order by i.id, c.step, c.name, c.attempt
  loop
    over := m."to" in ('succeeded', 'failed') or coalesce(m.unsent, false);
    update permit p set state = case when over then 'freed' else p.state end, expires_at = case when over then null else clock_timestamp() + make_interval(secs => p.timeout_ms / 1000.0) end,
      generation = (select x.generation from execution x where x.id = m.id)
      where p.execution_id = m.id and p.step = m.step and p.name = m.name and p.attempt = m.attempt and p.state <> 'freed' and (over or p.expires_at is null);
    update token_reservation r set used = case when m.unsent then 0 else coalesce(m.used, r.used, r.amount) end
      where r.execution_id = m.id and r.step = m.step and r.name = m.name and r.attempt = m.attempt;
  end loop;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.replication_status(OUT status text, OUT standbys integer, OUT synchronous integer)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare waits boolean := current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') <> all ('{off,local}');
begin
  select count(*), case when not coalesce(bool_or(r.sync_state is null), false) then count(*) filter (where r.sync_state = any ('{sync,quorum}')) end
    into standbys, synchronous from pg_stat_replication r where r.state is null or r.state = any ('{streaming,catchup}');
  status := case when waits then 'ok' when standbys > 0 then 'asynchronous' else 'single' end;
end $function$

owner openbot_engine;
grant execute to openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.request_cancel(p_id uuid)
 RETURNS TABLE(o_number integer, o_state text, o_sequence integer)
 LANGUAGE plpgsql
AS $function$
declare h execution;
begin
  select * into h from execution x where x.id = p_id for no key update;
  if not found then return; end if;
  if h.ended_at is null then
    update execution x set cancel_number = x.cancel_number + 1, state = case when x.state = 'outcome_unknown' then x.state else 'cancelling' end where x.id = h.id;
    if h.state not in ('outcome_unknown', 'cancelling') then perform append_event(h.id, 'State', 'cancelling', null); end if;
    perform send_signal(h.id, 'cancel', h.cancel_number + 1, null);
    select * into h from execution x where x.id = p_id;
  end if;
  return query select h.cancel_number, h.state, h.sequence;
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.revoke_identity(p_identity uuid)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock(hashtextextended('openbot:identity:' || p_identity, 0));
  insert into identity_revocation (organization_id, identity_id) values (tenant_organization(), p_identity) on conflict do nothing;
  return found;
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.revoke_work_of(p_members uuid[], p_others uuid[], p_credentials uuid[], p_projects uuid[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 SET "app.project" TO ''
AS $function$
declare r record; revoked uuid[] := '{}'; held uuid[] := '{}'; works jsonb := '[]';
begin
  for r in select distinct m.id from unnest(p_members || p_others) m(id) order by 1 loop
    perform pg_advisory_xact_lock(hashtextextended('openbot:member:' || r.id, 0));
  end loop;
  for r in select distinct o.o_identity::text as id from open_work_of(p_members, p_others, p_credentials, p_projects, false) o where o.o_identity is not null order by 1 loop
    perform revoke_identity(r.id::uuid);
    revoked := revoked || r.id::uuid;
  end loop;
  for r in select * from open_work_of(p_members, p_others, p_credentials, p_projects, true) loop
    held := held || r.o_id;
    works := works || jsonb_build_object('id', r.o_id, 'project', r.o_project);
  end loop;
  if exists (select from open_work_of(p_members, p_others, p_credentials, p_projects, false) o where not o.o_id = any (held) or not coalesce(o.o_identity = any (revoked), true)) then
    raise exception 'work was admitted below work that is being stopped' using errcode = 'serialization_failure';
  end if;
  for r in select (w.v->>'id')::uuid as id, w.v->>'project' as project from jsonb_array_elements(works) w(v) loop
    perform set_config('app.project', r.project, true);
    perform send_signal(r.id, 'identity-revoked', 1, null);
    perform request_cancel(r.id);
  end loop;
  return held;
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.send_signal(p_id uuid, p_name text, p_number integer, p_body bytea)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare h execution; n int := p_number;
begin
  select * into h from execution x where x.id = p_id for no key update;
  if not found then return null; end if;
  if n is null then select coalesce(max(s.number), 0) + 1 into n from execution_signal s where s.execution_id = p_id and s.name = p_name; end if;
  insert into execution_signal (execution_id, organization_id, project_id, name, number, body) values (h.id, h.organization_id, h.project_id, p_name, n, p_body) on conflict do nothing;
  if not found then return null; end if;
  update execution x set signal_count = x.signal_count + 1,
    runnable_at = case when x.owner is null and x.ended_at is null then '-infinity'::timestamptz else x.runnable_at end where x.id = h.id;
  return n;
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.sequence_feed(p_limit integer)
 RETURNS TABLE(o_organization uuid, o_project uuid, o_position bigint, o_numbered integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
declare organizations uuid[]; projects uuid[];
begin
  select array_agg(f.organization_id), array_agg(f.project_id) into organizations, projects from (
    select distinct x.organization_id, x.project_id from (select y.organization_id, y.project_id from product_event_inbox y order by y.id limit p_limit) x order by 1, 2) f;
  if projects is null then return; end if;
  insert into feed_position (organization_id, project_id) select * from unnest(organizations, projects) n(organization, project)
    where not exists (select 1 from feed_position f where f.organization_id = n.organization and f.project_id = n.project) on conflict do nothing;
  perform 1 from feed_position f where (f.organization_id, f.project_id) in (select * from unnest(organizations, projects)) order by f.organization_id, f.project_id for no key update;
  return query
  with found as materialized (
    select y.id from product_event_inbox y where (y.organization_id, y.project_id) in (select * from unnest(organizations, projects)) order by y.id limit p_limit),
  taken as (delete from product_event_inbox i using found where i.id = found.id returning i.*),
  numbered as (
    insert into product_event (organization_id, project_id, position, member_id, type, aggregate_id, aggregate_sequence, data, created_at)
    select t.organization_id, t.project_id, f.position + row_number() over (partition by t.organization_id, t.project_id order by t.id), t.member_id, t.type, t.aggregate_id, t.aggregate_sequence, t.data, t.created_at
    from taken t join feed_position f on f.organization_id = t.organization_id and f.project_id = t.project_id)
  update feed_position f set position = f.position + n.events
  from (select t.organization_id, t.project_id, count(*)::int as events from taken t group by 1, 2) n where f.organization_id = n.organization_id and f.project_id = n.project_id
  returning f.organization_id, f.project_id, f.position, n.events;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.sole_organization(p_except uuid)
 RETURNS uuid
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    select case when count(*) = 1 then min(o.id::text)::uuid end from (select id from organization where id is distinct from p_except limit 2) o
  $function$

owner openbot_engine;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.stop_project_work(p_project uuid, p_limit integer, OUT o_touched uuid[], OUT o_settled integer, OUT o_open boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET "app.project" TO ''
AS $function$
declare picked uuid[]; r record;
begin
  perform set_config('app.project', p_project::text, true);
  picked := array(select x.id from execution x where x.organization_id = tenant_organization() and x.project_id = p_project and x.ended_at is null
    and not exists (select from execution_signal s where s.execution_id = x.id and s.name = 'identity-revoked' and s.number = 1)
    order by x.owner is null, x.id limit p_limit);
  for r in select distinct x.identity_id::text as id from execution x where x.id = any (picked) and x.identity_id is not null order by 1 loop
    perform revoke_identity(r.id::uuid);
  end loop;
  o_touched := '{}';
  for r in select x.id from execution x where x.id = any (picked) and x.ended_at is null order by x.id for no key update loop
    perform send_signal(r.id, 'identity-revoked', 1, null), request_cancel(r.id);
    o_touched := o_touched || r.id;
  end loop;
  o_settled := 0;
  for r in select c.execution_id as id, c.step, c.name, c.attempt from execution x join execution_call c on c.execution_id = x.id
    where x.organization_id = tenant_organization() and x.project_id = p_project and x.state = 'outcome_unknown' and c.state = 'unknown' and c.decided is null
    order by c.execution_id, c.step, c.name limit p_limit
  loop
    if decide_call(r.id, r.step, r.name, r.attempt, 'stop', null) then
      o_settled := o_settled + 1;
      o_touched := o_touched || r.id;
    end if;
  end loop;
  o_open := exists (select from execution x where x.organization_id = tenant_organization() and x.project_id = p_project and x.ended_at is null);
end $function$

owner openbot_owner;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.stored_gate(p_id uuid, p_calls jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return (select case c.state when 'abandoned' then jsonb_build_object('refused', c.failure_category)
      when 'intent' then jsonb_build_object('waits', true, 'until', (select r.ready_at from token_reservation r left join permit p using (execution_id, step, name, attempt)
        where r.execution_id = p_id and r.step = m.step and r.name = m.name and r.attempt = m.attempt and coalesce(p.state, 'held') = 'held')) end
    from jsonb_to_recordset(p_calls) m(step int, name text, attempt int, gate jsonb) cross join lateral call_of(p_id, m.step, m.name, m.attempt) c where m.gate is not null);
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.take_from_bucket(p_bucket bytea, p_limit integer, p_window_ms integer, p_cost integer, p_ahead integer, p_ahead_ms integer)
 RETURNS TABLE(granted integer, remaining integer, reset_ms integer, retry_after_ms integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
  gap bigint := ceil(p_window_ms * 1000.0 / p_limit);
  depth bigint := gap * p_limit;
  held bigint; at bigint; later bigint; spare bigint;
begin
  perform set_config('synchronous_commit', 'off', true);
  loop
    select b.full_at into held from rate_bucket b where b.bucket = p_bucket for no key update;
    exit when found;
    insert into rate_bucket (bucket, full_at) values (p_bucket, 0) on conflict do nothing;
    -- Rows come by this alone, so that two that are full again go with each that comes keep the table small.
    delete from rate_bucket b where b.bucket in (select f.bucket from rate_bucket f where f.full_at < (extract(epoch from clock_timestamp()) * 1000000)::bigint and f.bucket <> p_bucket
      order by f.full_at limit 2 for update skip locked);
  end loop;
  -- After the lock: those who wait for it are served by the clock of their turn. A clock that was set back locks nobody out for longer than a window.
  at := extract(epoch from clock_timestamp()) * 1000000;
  held := least(greatest(held, at), at + depth);
  later := greatest(held, at + p_ahead_ms * 1000::bigint);
  spare := least(p_ahead, (at + depth - later) / gap - p_cost);
  if spare > 0 then
    granted := p_cost + spare;
    held := later + granted * gap;
  elsif held + p_cost * gap <= at + depth then
    granted := p_cost;
    held := held + granted * gap;
  else
    granted := 0;
  end if;
  if granted > 0 then update rate_bucket b set full_at = held where b.bucket = p_bucket; end if;
  remaining := (at + depth - held) / gap;
  reset_ms := ceil((held - at) / 1000.0);
  retry_after_ms := case when granted > 0 then 0 else ceil((held + p_cost * gap - at - depth) / 1000.0) end;
  return next;
end $function$

owner openbot_engine;
grant execute to openbot_app;

CREATE OR REPLACE FUNCTION public.take_place(h execution, p_call jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare l call_limit; wanted jsonb := p_call->'gate'->'permit'; p permit;
begin
  insert into call_limit as c (organization_id, name, size) values (h.organization_id, wanted->>'limit', (wanted->>'size')::int)
    on conflict (organization_id, name) do update set size = excluded.size, next_number = c.next_number + 1 returning * into l;
  insert into permit (execution_id, step, name, attempt, organization_id, generation, limit_name, number, timeout_ms)
    values (h.id, (p_call->>'step')::int, p_call->>'name', (p_call->>'attempt')::int, h.organization_id, h.generation, l.name, l.next_number, (wanted->>'timeoutMs')::int)
    on conflict (execution_id, step, name, attempt) do update set generation = excluded.generation;
  perform grant_places(h.organization_id, l.name);
  update permit x set woken = true where x.execution_id = h.id and x.step = (p_call->>'step')::int and x.name = p_call->>'name' and x.attempt = (p_call->>'attempt')::int and x.state = 'held'
    returning * into p;
  return p.execution_id is not null;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.take_tokens(h execution, p_call jsonb)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
AS $function$
declare b token_bucket; wanted jsonb := p_call->'gate'->'tokens'; amount double precision := (wanted->>'amount')::double precision; r token_reservation; back double precision;
begin
  insert into token_bucket as t (organization_id, name, capacity, refill_per_second, level, as_of)
    values (h.organization_id, wanted->>'bucket', (wanted->>'capacity')::double precision, (wanted->>'refillPerSecond')::double precision, (wanted->>'capacity')::double precision, clock_timestamp())
    on conflict (organization_id, name) do update set capacity = excluded.capacity, refill_per_second = excluded.refill_per_second, as_of = excluded.as_of,
      level = least(excluded.capacity, t.level + greatest(0, extract(epoch from excluded.as_of - t.as_of)) * t.refill_per_second) returning * into b;
  with settled as (delete from token_reservation s where s.organization_id = h.organization_id and s.bucket = b.name and s.used is not null returning s.amount - s.used as rest)
    select coalesce(sum(rest), 0) into back from settled;
  b.level := least(b.capacity, b.level + back);
  select * into r from token_reservation x where x.execution_id = h.id and x.step = (p_call->>'step')::int and x.name = p_call->>'name' and x.attempt = (p_call->>'attempt')::int;
  if r.execution_id is null then
    b.level := b.level - amount;
    r.ready_at := b.as_of + make_interval(secs => greatest(0, - b.level) / b.refill_per_second);
    insert into token_reservation (execution_id, step, name, attempt, organization_id, bucket, amount, ready_at)
      values (h.id, (p_call->>'step')::int, p_call->>'name', (p_call->>'attempt')::int, h.organization_id, b.name, amount, r.ready_at);
  end if;
  update token_bucket t set level = b.level where t.organization_id = h.organization_id and t.name = b.name;
  return r.ready_at;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.tell_secret_use(h execution, p_author uuid, p jsonb)
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into audit_inbox (organization_id, project_id, id, action, outcome, actor_kind, service, on_behalf_of, target_kind, target_id, detail)
  values (h.organization_id, h.project_id, (p->>'id')::uuid, 'secret.used', 'done', 'service', h.workflow, p_author, 'connection', (p->>'connection')::uuid,
    jsonb_build_object('execution', p->'execution', 'revision', p->'revision'))
$function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.tenant_organization()
 RETURNS uuid
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ select nullif(current_setting('app.organization', true), '')::uuid $function$

owner openbot_owner;
grant execute to public;

CREATE OR REPLACE FUNCTION public.tenant_project()
 RETURNS uuid
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ select nullif(current_setting('app.project', true), '')::uuid $function$

owner openbot_owner;
grant execute to public;

CREATE OR REPLACE FUNCTION public.time_left(p_organization uuid, p_project uuid, p_id uuid)
 RETURNS double precision
 LANGUAGE plpgsql
 SET "app.organization" TO ''
 SET "app.project" TO ''
AS $function$
declare h execution;
begin
  perform set_config('app.organization', p_organization::text, true), set_config('app.project', p_project::text, true);
  select * into h from execution x where x.id = p_id;
  return extract(epoch from work_expiry(h) - clock_timestamp())::double precision * 1000;
end $function$

owner openbot_owner;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.unknown_workflows()
 RETURNS TABLE(workflow text, version integer, executions bigint, oldest timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare known text[] := array(select distinct k from node n cross join unnest(n.knows) k where node_lives(n.name));
begin
  return query select x.workflow, x.workflow_version, count(*), min(x.created_at) from execution x
    where x.runnable_at is not null and x.owner is null and not x.workflow || ':' || x.workflow_version = any (known) group by 1, 2 order by 1, 2;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.wait_expiry(h execution, p_human boolean)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
AS $function$
begin
  if h.expired_at is not null or p_human then return case when h.expired_at is null then h.deadline end; end if;
  return greatest(work_expiry(h), case when parent_stands(h) then least(h.deadline, clock_timestamp() + interval '5 s') end);
end $function$

owner openbot_owner;
grant execute to openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.wake_permitted()
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare waiting uuid[] := array(select distinct p.execution_id from permit p where p.state = 'held' and not p.woken limit 200); ready uuid[];
begin
  if cardinality(waiting) = 0 then return; end if;
  with locked as materialized (select x.id from execution x where x.id = any (waiting) order by x.id for no key update skip locked),
  moved as (
    update execution x set signal_count = x.signal_count + 1, runnable_at = case when x.owner is null and x.ended_at is null then '-infinity'::timestamptz else x.runnable_at end
    from locked where x.id = locked.id returning x.id)
  select array_agg(id) into ready from moved;
  update permit p set woken = true where p.execution_id = any (ready) and p.state = 'held' and not p.woken;
  return query select unnest(ready);
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.watch_owned(p_owner text, p_epoch bigint)
 RETURNS TABLE(id uuid, claim_id uuid, state text, signal_count integer)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  return query select x.id, x.claim_id, x.state, x.signal_count from execution x where x.owner = p_owner and x.epoch = p_epoch;
end $function$

owner openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.work_clock(h execution)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
begin
  return h.ran_ms + case when h.ran_from is null then 0 else greatest(0, outer_clock(case when h.attached then h.parent_id end) - h.ran_from) end;
end $function$

owner openbot_owner;
grant execute to openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.work_expiry(h execution)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
AS $function$
begin
  if h.expired_at is not null then return null; end if;
  return least(h.deadline, case when h.budget_ms is not null then clock_timestamp() + make_interval(secs => (h.budget_ms - work_clock(h)) / 1000.0) end);
end $function$

owner openbot_owner;
grant execute to openbot_engine;
grant execute to openbot_worker;

CREATE OR REPLACE FUNCTION public.write_notes(p_items jsonb, p_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
begin
  insert into execution_note (execution_id, hook, at, step, name, attempt, organization_id, project_id, commit_number, body)
  select x.id, n.hook, n.at, n.step, n.name, n.attempt, x.organization_id, x.project_id, x.commit_number, decode(n.body, 'base64')
  from execution x join jsonb_array_elements(p_items) v on (v->>'id')::uuid = x.id cross join jsonb_to_recordset(v->'notes') n(hook text, at text, step int, name text, attempt int, body text)
  where x.id = any (p_ids) on conflict do nothing;
end $function$

owner openbot_owner;
grant execute to openbot_worker;
