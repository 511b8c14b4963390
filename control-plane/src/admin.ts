import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { AppError } from '@parley/shared/errors/app-error';
import { ConfigError } from '@parley/shared/errors/config-error';
import { createLogger } from '@parley/shared/logging/logger';
import type { Bus } from '@parley/shared/bus/bus';
import { openLocalBus } from '@parley/shared/bus/local-bus';
import { openRedisBus } from '@parley/shared/bus/redis-bus';
import { systemClock } from '@parley/shared/time/clock';
import { bootstrapInstallation } from './bootstrap.ts';
import { invoiceCommand, INVOICE_USAGE } from './invoices/invoice-commands.ts';
import { listDeadLetters, removeDeadLetters, replayDeadLetters } from './jobs/dead-letters.ts';
import { BillingCommandError, runRatesCommand, runWalletCommand } from './billing/billing-commands.ts';
import { loadControlPlaneConfig } from './config.ts';
import type { Services } from './features.ts';
import { projectCollection } from './projects/project-model.ts';
import type { ProjectRecord } from './projects/project-model.ts';
import type { KeyPrincipal } from './tenancy/principal.ts';
import { Scope } from './tenancy/scope.ts';

const USAGE = `usage: npm run admin -- <command>

  create-org --name <name> [--project <name>]      create an org with a project and an admin key
  create-key [--project-id <prj_…>] [--name <name>] [--role viewer|editor|admin]
                                                   of the only project unless given; the first key of an
                                                   installation makes an org and a project
  suspend-org --org-id <org_…>
  resume-org --org-id <org_…>
  rates show [--org-id <org_…>]                    print the prices of calls: the installation's, or an org's own
  rates set <file.json> [--org-id <org_…>]         replace them (docs/billing.md tells the format)
  rates remove [--org-id <org_…>]
  wallet show --org-id <org_…>
  wallet mode unlimited|prepaid --org-id <org_…>
  wallet top-up <amount> --reference <text> --org-id <org_…>
                                                   raise the balance, once for each reference
  wallet low-balance <amount>|none --org-id <org_…>
                                                   from where on the wallet counts as low
  setup-code                                       print the setup code for the first registration
${INVOICE_USAGE}  dead-letters list                                list call events that could not be processed
  dead-letters replay [<id> …]                     process them again: all, or those named
  dead-letters remove <id> …                       delete them

Reads the environment of the control plane. An embedded installation keeps its dead letters in a file: stop it, then
add --events <data folder>/events.db.
`;

const MAX_PROJECTS_SHOWN = 20;

class UsageError extends Error {}

/** What operators do on the server: there is no caller to ask for permission. */
async function run(services: Services, args: readonly string[]): Promise<string> {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      name: { type: 'string' },
      project: { type: 'string' },
      'project-id': { type: 'string' },
      'org-id': { type: 'string' },
      role: { type: 'string' },
      reference: { type: 'string' },
      month: { type: 'string' },
    },
  });
  const needed = (name: 'name' | 'project-id' | 'org-id'): string => {
    const value = values[name];
    if (value === undefined) throw new UsageError(`--${name} is missing.`);
    return value;
  };
  switch (positionals[0]) {
    case 'create-org': {
      const orgName = needed('name');
      const made = await bootstrapInstallation(services, {
        orgName,
        ...(values.project !== undefined && { projectName: values.project }),
      });
      return `org      ${made.org._id}\nproject  ${made.project._id}\nkey      ${made.apiKey}\n`;
    }
    case 'create-key': {
      const role = values.role ?? 'admin';
      if (role !== 'viewer' && role !== 'editor' && role !== 'admin')
        throw new UsageError(`--role ${role}: must be viewer, editor or admin`);
      const project = await projectOf(services, values['project-id']);
      if (!project) return createFirstKey(services, { role, keyName: values.name });
      const scope = new Scope(services.database, {
        orgId: project.org_id,
        projectId: project._id,
        projects: [project._id],
        role: 'owner',
      });
      const name = values.name ?? 'Created on the command line';
      const made = await services.apiKeys.insert(scope, { name, role, expiresAt: null, createdBy: 'cli' });
      await services.audit.record({
        scope,
        caller: 'cli',
        address: '',
        action: 'api_key.created',
        target: made.record._id,
      });
      return `${made.key}\n`;
    }
    case 'suspend-org':
    case 'resume-org':
      await services.orgs.setSuspended(needed('org-id'), positionals[0] === 'suspend-org');
      return 'done\n';
    case 'rates':
    case 'wallet': {
      const input = { words: positionals.slice(1), orgId: values['org-id'], reference: values.reference };
      return positionals[0] === 'rates'
        ? runRatesCommand(services, input)
        : runWalletCommand(services, input);
    }
    case 'setup-code':
      return (await services.userAccounts.hasUsers())
        ? 'There are users already, so the setup code no longer works. Ask an admin for an invite.\n'
        : `${services.userAccounts.setupCode()}\n`;
    case 'invoice':
      return invoices(services, positionals.slice(1), { month: values.month, orgId: values['org-id'] });
    default:
      throw new UsageError(
        positionals[0] === undefined ? 'No command was given.' : `Unknown command: ${positionals[0]}.`,
      );
  }
}

async function invoices(
  services: Services,
  words: readonly string[],
  options: { month: string | undefined; orgId: string | undefined },
): Promise<string> {
  try {
    const answer = await invoiceCommand(services, words, options, services.clock.now());
    if (answer !== undefined) return answer;
  } catch (error) {
    if (error instanceof RangeError || error instanceof AppError) throw new UsageError(error.message);
    throw error;
  }
  throw new UsageError('invoice needs list, close, paid, void or uncollectible.');
}

/** @returns undefined when none is named and the installation has none yet */
async function projectOf(
  services: Services,
  projectId: string | undefined,
): Promise<ProjectRecord | undefined> {
  if (projectId !== undefined) {
    const named = await services.directory.project(projectId);
    if (!named) throw new UsageError(`There is no project ${projectId}.`);
    return named;
  }
  const projects = await services.database
    .model(projectCollection)
    .find({}, { name: 1, org_id: 1 })
    .limit(MAX_PROJECTS_SHOWN)
    .lean<ProjectRecord[]>();
  if (projects.length > 1) {
    const list = projects.map(({ _id, name }) => `  ${_id}  ${name}`).join('\n');
    throw new UsageError(`There are several projects. Name one with --project-id, such as:\n${list}`);
  }
  return projects[0];
}

/** The key alone goes to stdout, so that a script can take it. */
async function createFirstKey(
  services: Services,
  options: { role: KeyPrincipal['role']; keyName: string | undefined },
): Promise<string> {
  const { role, keyName } = options;
  const made = await bootstrapInstallation(services, { role, ...(keyName !== undefined && { keyName }) });
  process.stderr.write(
    `Made org ${made.org._id} (${made.org.name}) and project ${made.project._id} (${made.project.name}). The key:\n`,
  );
  return `${made.apiKey}\n`;
}

/** The event log alone: for when the database is the trouble. */
async function runOnDeadLetters(args: readonly string[]): Promise<string> {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { events: { type: 'string' } },
  });
  const [, verb, ...ids] = positionals;
  const bus = await openEventLog(values.events);
  try {
    const { deadLetters } = bus.events;
    if (verb === 'list') return await listDeadLetters(deadLetters);
    if (verb === 'replay') return await replayDeadLetters(deadLetters, ids);
    if (verb === 'remove' && ids.length > 0) return await removeDeadLetters(deadLetters, ids);
    throw new UsageError('dead-letters needs list, replay or remove <id>.');
  } finally {
    await bus[Symbol.asyncDispose]();
  }
}

async function openEventLog(file: string | undefined): Promise<Bus> {
  const logger = createLogger({ name: 'admin', level: 'warn' });
  if (file !== undefined) {
    if (!existsSync(file)) throw new UsageError(`File not found: ${file}.`);
    return openLocalBus({ path: file, logger });
  }
  const { REDIS_URL: url, EVENT_PARTITIONS: partitions } = loadControlPlaneConfig(process.env);
  if (url === undefined)
    throw new UsageError('REDIS_URL is not set. Set it, or name the file of events with --events.');
  return openRedisBus({ url, partitions, logger });
}

/** What `parseArgs` says of options that it does not know, or that lack their value. */
function isUnknownOption(error: unknown): error is Error {
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    process.stdout.write(USAGE);
    return;
  }
  if (args[0] === 'dead-letters') {
    process.stdout.write(await runOnDeadLetters(args));
    return;
  }
  const config = loadControlPlaneConfig(process.env);
  const logger = createLogger({ name: 'admin', level: 'warn' });
  // Not loaded for dead letters, which are asked for when much else is in trouble.
  const { openDatabase } = await import('./storage/database.ts');
  const { createFeatures } = await import('./features.ts');
  const owned = new DisposableList();
  try {
    const database = owned.add(await openDatabase(config.MONGODB_URI, { logger }));
    // Nothing here meets another process: commands only write records.
    const bus = owned.add(await openLocalBus({ path: ':memory:', logger }));
    const { features, services } = owned.add(
      await createFeatures({
        config,
        database,
        bus,
        logger,
        clock: systemClock,
        draining: () => false,
      }),
    );
    await database.ensureIndexes(features.collections);
    process.stdout.write(await run(services, args));
  } finally {
    await owned.dispose();
  }
}

try {
  await main();
} catch (error) {
  if (error instanceof BillingCommandError) process.stderr.write(`${error.message}\n`);
  else if (error instanceof UsageError || isUnknownOption(error))
    process.stderr.write(`${error.message}\n\n${USAGE}`);
  else if (error instanceof ConfigError) process.stderr.write(`${error.message}\n`);
  else throw error;
  process.exitCode = 1;
}
