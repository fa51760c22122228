import 'reflect-metadata';
import type { CommandBus } from '@nestjs/cqrs';
import { domainName } from '@domain/identity-providers/domain-name.js';
import { Config } from '@platform/config/config.js';
import { loadConfig } from '@platform/config/env.js';
import type { PreparedConfig } from '@platform/database/prepared-config.js';
import { linkOf, publicUrlOf } from '@platform/identity/public-url.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { readOptions } from '@platform/local/command-options.js';
import { runningEmbeddedPostgres } from '@platform/local/embedded-postgres.js';
import { databaseFolder } from '@platform/local/local-state.js';
import { prepare } from '@platform/local/prepare.js';
import { configOrFailure, describeFailure, runProgram, type Program } from '@platform/local/program.js';
import { StartFailure } from '@platform/local/start-failure.js';

const prepared = (program: Program): Promise<PreparedConfig> => prepare(configOrFailure(loadConfig()), program);

/** Also beside a server that has the embedded PostgreSQL of this folder for itself: who only reads goes on with the one that runs. */
async function besideRunning(program: Program): Promise<PreparedConfig> {
  const config = configOrFailure(loadConfig());
  const databaseUrl = config.databaseUrl ?? (await runningEmbeddedPostgres(databaseFolder()));
  return prepare(new Config({ ...config, databaseUrl }), program);
}

/** A command answers the exit code where it is not 0. */
type Command = (args: readonly string[], program: Program) => Promise<number | void>;

async function migrate(args: readonly string[], program: Program): Promise<void> {
  readOptions(args, {});
  await prepared(program);
  program.progress('The database is up to date');
}

/** The API's modules in a process that listens to nobody: the ports belong to the server that may run beside it. */
async function openCommands(given: PreparedConfig, program: Program): Promise<CommandBus> {
  const config = new Config({ ...given, roles: { api: true, worker: false }, privatePort: null }) as PreparedConfig;
  const [{ NestFactory }, { CommandBus }, { AppModule }] = await Promise.all([import('@nestjs/core'), import('@nestjs/cqrs'), import('./app.module.js')]);
  const app = await NestFactory.createApplicationContext(AppModule.register(config), { logger: false, abortOnError: false });
  program.onStop(() => app.close());
  return app.get(CommandBus);
}

const publicUrlMissing = 'OPENBOT_PUBLIC_URL must be set for a link: it says where browsers reach the server.';

async function createOrganization(args: readonly string[], program: Program): Promise<void> {
  const name = { required: true, least: 1, most: 100 };
  const [another, linkAlone] = [args.includes('--another'), args.includes('--link')];
  const options = readOptions(args, { name, owner: name, email: { required: linkAlone, least: 3, most: 254, form: /^[^\s@]+@[^\s@]+$/ } }, ['--link', '--another']);
  const publicUrl = publicUrlOf(configOrFailure(loadConfig()));
  if (linkAlone && publicUrl === null) throw new StartFailure(publicUrlMissing);
  const config = await prepared(program);
  const commands = await openCommands(config, program);
  const [{ FoundOrganizationCommand }, { IssueOwnerLinkCommand }, { whileNameIsKept }] = await Promise.all([
    import('@contexts/sign-in/public/found-organization.command.js'),
    import('@contexts/accounts/public/issue-owner-link.command.js'),
    import('@platform/database/organization-names.js'),
  ]);
  const wanted = new FoundOrganizationCommand(options.name ?? '', { name: options.owner ?? '', email: options.email }, !linkAlone);
  const made = await whileNameIsKept(config.databaseUrl, wanted.name, (isTaken) => {
    if (isTaken && !another) throw new StartFailure(`There is an organization named "${wanted.name}": give --another to make one more of that name.`);
    return commands.execute(wanted);
  });
  const organizationId = fromPublicId('organization', made.organizationId) ?? '';
  const link = options.email === null || publicUrl === null ? null : await commands.execute(new IssueOwnerLinkCommand(organizationId, { email: options.email }));
  program.progress(JSON.stringify({ ...made, setupLink: link?.ok && publicUrl ? linkOf(publicUrl, 'setup', link.value) : null }, null, 2));
}

async function setupLink(args: readonly string[], program: Program): Promise<void> {
  const options = readOptions(args, { organization: { required: true, least: 1, most: 100 }, owner: { required: true, least: 3, most: 254 } });
  const [organizationId, owner] = [fromPublicId('organization', options.organization ?? ''), options.owner ?? ''];
  const config = await besideRunning(program);
  const publicUrl = publicUrlOf(config);
  if (publicUrl === null) throw new StartFailure(publicUrlMissing);
  const { IssueOwnerLinkCommand } = await import('@contexts/accounts/public/issue-owner-link.command.js');
  const commands = await openCommands(config, program);
  const id = fromPublicId('member', owner);
  const link = organizationId === null ? null : await commands.execute(new IssueOwnerLinkCommand(organizationId, id === null ? { email: owner } : { id }));
  if (!link?.ok) throw new StartFailure(link?.failure._tag === 'AddressMissing' ? 'This owner has no e-mail address to sign in with.' : 'There is no such owner who may act.');
  program.progress(linkOf(publicUrl, 'setup', link.value));
}

async function vouchForDomain(args: readonly string[], program: Program): Promise<void> {
  const options = readOptions(args, { organization: { required: true, least: 1, most: 100 }, domain: { required: true, least: 3, most: 253 } });
  const [organizationId, domain] = [fromPublicId('organization', options.organization ?? ''), domainName(options.domain ?? '')];
  const commands = await openCommands(await besideRunning(program), program);
  const { VouchForDomainCommand } = await import('@contexts/identity-providers/public/vouch-for-domain.command.js');
  const done = organizationId === null || domain === null ? null : await commands.execute(new VouchForDomainCommand(organizationId, domain));
  if (!done?.ok) throw new StartFailure('The organization has claimed no such domain: an owner does that first, POST /v1/organization/domains.');
  program.progress(`${domain} counts as verified.`);
}

async function error([id = '', ...rest]: readonly string[], program: Program): Promise<void> {
  readOptions(rest, {});
  const { readErrorRecord } = await import('@platform/observability/read-error-record.js');
  program.progress(await readErrorRecord(await besideRunning(program), id));
}

async function lease([id = '', ...rest]: readonly string[], program: Program): Promise<void> {
  const options = readOptions(rest, { 'released-by': { required: false, least: 1, most: 100 } });
  const { lease: showLease } = await import('@platform/doctor/lease-command.js');
  program.progress(await showLease(configOrFailure(loadConfig()), id, options['released-by']));
}

/** Reads the file alone: no database, no configuration. */
async function verifyAudit(args: readonly string[], program: Program): Promise<number> {
  const { file } = readOptions(args, { file: { required: true, least: 1, most: 4_096 } });
  const { verifyExport } = await import('@platform/audit/verify-export.js');
  const report = await verifyExport(file ?? '').catch((error: unknown) => String((error as { code?: string }).code));
  if (typeof report === 'string') {
    process.stderr.write(report === 'ENOENT' ? `There is no file ${file}.\n` : `The file cannot be read: ${report}.\n`);
    return 2;
  }
  program.progress(JSON.stringify(report, null, 2));
  return report.ok ? 0 : 1;
}

/** 2 for everything that keeps it from looking: who watches exit codes must not take it for a finding. */
async function doctor(args: readonly string[], program: Program): Promise<number> {
  try {
    readOptions(args, {}, ['--json']);
    const { doctor: examine } = await import('@platform/doctor/doctor-command.js');
    return await examine(configOrFailure(loadConfig()), args.includes('--json'), (text) => program.progress(text));
  } catch (failure) {
    process.stderr.write(`OpenBot cannot look. ${describeFailure(failure)}\n`);
    return 2;
  }
}

const help = `Usage: node dist/src/cli.js <command> [options]

  migrate
      brings the database to what this version needs
  create-organization --name <name> --owner <name> [--email <address>] [--link] [--another]
      makes an organization and prints, once, its owner's first token, and a link that
      sets a password where there is an address; --link: the link alone;
      --another: also where there is one of that name
  setup-link --organization <org_…> --owner <mem_… or address>
      prints a link by which an owner sets a password anew, once and within an hour
  vouch-for-domain --organization <org_…> --domain <name>
      takes a claimed domain for verified, where its DNS cannot be asked
  error <err_… or UUID>
      prints what is behind an error id
  doctor [--json]
      looks for work that needs a person; exits with 0 (well), 1 (something to do) or 2 (it could not look)
  lease <lease_…> [--released-by <name>]
      shows what a node holds of the outside world, and records that a person found it gone
  verify-audit --file <export.ndjson>
      verifies an export of an audit log without a database;
      exits with 0 (as it was written) or 1 (changed or cut)

It reads the same environment as the server: DATABASE_URL, OPENBOT_ENCRYPTION_KEYS and what README.md lists.`;

const commands = new Map<string, Command>(
  Object.entries({
    migrate,
    'create-organization': createOrganization,
    'setup-link': setupLink,
    'vouch-for-domain': vouchForDomain,
    error,
    doctor,
    lease,
    'verify-audit': verifyAudit,
  }),
);

void runProgram(async (program) => {
  const [name = '', ...args] = process.argv.slice(2);
  if (['help', '--help', '-h'].includes(name) || args.includes('--help')) {
    program.progress(help);
    return 0;
  }
  const command = commands.get(name);
  if (!command)
    throw new StartFailure(
      `${name === '' ? 'A command is missing' : `"${name.slice(0, 100)}" is no command`}: the commands are ${[...commands.keys()].join(', ')}, and --help says what they do.`,
    );
  return (await command(args, program)) ?? 0;
}, '');
