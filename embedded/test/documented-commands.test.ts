import { execFile, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import path from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { silentLogger } from '@parley/shared/logging/logger';
import {
  openDemonstrationPlatform,
  type DemonstrationPlatform,
} from '../src/demonstration/demonstration-platform.ts';
import { eventually } from './fixtures/system/eventually.ts';
import { ROOT } from './fixtures/system/parley-process.ts';
import { sampleOf } from '../../shared/test/fixtures/long.ts';
import { TEST_SETTINGS, temporaryFolder } from './fixtures/system/test-platform.ts';

// Every command that the documentation tells somebody to type is run: here, in another test, or not at all for a
// reason that is written down. A new one without an entry fails.

t.setTimeout(120_000);

const run = promisify(execFile);
const DOCUMENTS = ['*.md', '*/*.md', 'docs/**/*.md'];

interface Documented {
  file: string;
  /** As it is typed, comments and line breaks of the shell kept. */
  text: string;
}

/** Fenced `sh` blocks, and command lines in running text that begin with npm, npx or node. */
function documented(): { blocks: Documented[]; lines: Documented[] } {
  const blocks: Documented[] = [];
  const lines: Documented[] = [];
  const files = [...new Set(DOCUMENTS.flatMap((pattern) => globSync(pattern, { cwd: ROOT })))].sort();
  // The changelog tells what was; it asks nobody to type anything.
  for (const file of files.filter((name) => name !== 'CHANGELOG.md')) {
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    for (const [, indent, body] of text.matchAll(/^( *)```sh\n([^]*?)^ *```/gm))
      blocks.push({ file, text: body!.replaceAll(new RegExp(`^${indent}`, 'gm'), '') });
    const prose = text.replaceAll(/^ *```[^]*?^ *```/gm, '');
    for (const [, command] of prose.matchAll(/`((?:npm|npx|node) [^`]+)`/g))
      if (!command!.includes('…')) lines.push({ file, text: command! });
  }
  return { blocks, lines };
}

/** One command a line, without comments; a quoted text goes on in the next line. */
function commandsOf(block: string): string[] {
  const commands: string[] = [];
  let command = '';
  let quote = '';
  let comment = false;
  for (const character of block) {
    if (character === '\n' && quote === '') {
      commands.push(command.trim());
      command = '';
      comment = false;
    } else if (!comment) {
      if (character === quote) quote = '';
      else if (quote === '' && (character === "'" || character === '"')) quote = character;
      comment = quote === '' && character === '#' && /(^|\s)$/.test(command);
      if (!comment) command += character;
    }
  }
  return commands.filter((text) => text !== '');
}

/** Where a command is shown to work: in another test, or here in the test named. */
type Shown = { by: string } | { here: string } | { not: string };

const SHOWN: readonly [RegExp, Shown][] = [
  // The suite itself, and what it is started with.
  [/^npx -y -p node@22 -c 'npm test'$|^npm test$|^npm ci$/, { by: '.ci/run' }],
  [/^npm run (lint|typecheck)$/, { by: '.ci/run' }],
  [/^npm run test:long$/, { not: 'takes minutes; `npm test` tries a sample of the same' }],
  [/^npm run format$/, { not: 'rewrites the sources; `npm run lint` fails where it would' }],
  [/^npx -y -p node@22 -c 'npm ci && npm start'$|^npm start$/, { by: 'console/test/newcomer.test.ts' }],
  [/^npm run dev$/, { by: 'embedded/test/dev.test.ts' }],
  [/^npm run test:path -- /, { by: 'shared/test/test-path.test.ts' }],
  [/^npm run test:file \S+\.test\.ts$/, { by: 'shared/test/test-path.test.ts' }],
  [
    /^npm run mutants( -- |$)/,
    { not: 'takes hours; shared/test/mutation.test.ts does the same to two files' },
  ],
  [/^npm run call -- --carrier (twilio|browser)$/, { by: 'embedded/test/whole-conversation.test.ts' }],
  [/^npm run call -- (--text .* --interrupt|--noise) /, { by: 'embedded/test/command-line.test.ts' }],
  [/^npm run call -- --script /, { by: 'embedded/test/whole-conversation.test.ts' }],
  [/^npm run replay -- /, { by: 'embedded/test/agent-tests.test.ts' }],
  [/^npm run call -- --outbound|^npm run campaign -- --contacts \d+$/, { here: 'the agent calls' }],
  [/^npm run (call|campaign) -- --help$/, { here: 'what commands print' }],
  [/^npm run --silent openapi > openapi\.json$/, { here: 'what commands print' }],
  [/^npm run admin -- --help$/, { here: 'what commands print' }],
  [
    /^npm run admin -- (rates (set|show)|wallet (show|mode|top-up|low-balance)) /,
    { by: 'control-plane/test/command-line.test.ts' },
  ],
  [/^npm run admin -- (setup-code|dead-letters list)$/, { by: 'control-plane/test/command-line.test.ts' }],
  [/^npm run admin -- invoice /, { by: 'control-plane/test/invoices.test.ts' }],
  [
    /^docker compose exec control-plane npm run admin .* create-key$/,
    { by: 'control-plane/test/command-line.test.ts' },
  ],
  [/^cp \.env\.example \.env$|^docker compose /, { not: 'needs Docker; CI builds the images' }],
  [
    /^api=https:\/\/voice\.example\.com|^auth="Authorization: Bearer …"$|^curl [^]*(\/auth\/|\/v1\/orgs)/,
    { here: 'a real number' },
  ],
  [/^curl [^]*\/verify$/, { here: 'a real number' }],
  [
    /^curl [^]*(-X PATCH \$api\/v1\/telephony-accounts|\/start-call|\/incoming)|^(secret|body)='|^(t|v1)=\$\(/,
    { here: 'a real number' },
  ],
  [/^openssl req |^socat /, { here: 'TLS on a laptop' }],
  [
    /^api=http:\/\/127\.0\.0\.1:8080|^agent=|^run=|^while curl |^curl [^]*\/(tests|results)\b/,
    { here: 'a test of an agent' },
  ],
  [/^curl -N [^]*text\/event-stream/, { by: 'control-plane/test/calls.test.ts' }],
  [/^npm run loadtest -- --help$/, { here: 'what commands print' }],
  [/^npm run loadtest:answers$/, { by: 'media-gateway/src/answering/answer-corpus.test.ts' }],
  [/^npm run loadtest:plan -- /, { here: 'what commands print' }],
  [/^npm run loadtest -- /, { by: 'loadtest/src/options.test.ts' }],
  [
    /^npm run loadtest:(check|dispatch|hearing|rest)( -- --(save|seconds \d+))?$/,
    { not: 'a measurement of minutes' },
  ],
  [/^npm run loadtest:noise( -- |$)/, { by: 'loadtest/src/noise/noise-options.test.ts' }],
  [
    /^npm run loadtest:peers( && npm run loadtest:compare -- --calls 8)?$/,
    { not: 'installs LiveKit agents-js' },
  ],
];

const { blocks, lines } = documented();
const all = [
  ...blocks.flatMap(({ file, text }) => commandsOf(text).map((command) => ({ file, text: command }))),
  ...lines,
];

void t.test('every documented command is shown somewhere', (t) => {
  t.ok(all.length > 40, `${all.length} commands`);
  const used = new Set<RegExp>();
  for (const { file, text } of all) {
    const entry = SHOWN.find(([pattern]) => pattern.test(text));
    if (!entry) {
      t.fail(
        `${file}: ${text}\n  is run by no test: run it here, name the test that does, or say why none can`,
      );
      continue;
    }
    used.add(entry[0]);
    const [, shown] = entry;
    if ('by' in shown) t.ok(existsSync(path.join(ROOT, shown.by)), `${text}: ${shown.by}`);
  }
  for (const [pattern] of SHOWN) t.ok(used.has(pattern), `${String(pattern)} stands in a document`);
  const { scripts } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  for (const { file, text } of all)
    for (const [, name] of text.matchAll(/npm run (?:--silent )?([a-z:]+)/g))
      t.ok(scripts[name!], `${file}: ${name} is a script`);
  t.end();
});

void t.test('what commands print', async (t) => {
  const npm = async (...args: string[]) =>
    (await run('npm', ['run', '--silent', ...args], { cwd: ROOT, maxBuffer: 16 * 1024 * 1024 })).stdout;
  const commands: [args: string[], check: (printed: string) => void][] = [
    [['call', '--', '--help'], (printed) => t.match(printed, /--carrier NAME/)],
    [['admin', '--', '--help'], (printed) => t.match(printed, /create-key/)],
    [['loadtest', '--', '--help'], (printed) => t.match(printed, /--capacity/)],
    [
      ['loadtest:plan', '--', '--calls-per-core', '150', '--cores', '8'],
      (printed) => t.match(printed, /1,000,000/),
    ],
    [['campaign', '--', '--help'], (printed) => t.match(printed, /--contacts N/)],
    [
      ['openapi'],
      (printed) =>
        t.match(
          JSON.parse(printed),
          { openapi: '3.1.0', info: { version: '0.1.0' }, paths: { '/v1/agents/{agent_id}': {} } },
          'nothing but the description, without any configuration',
        ),
    ],
  ];
  await Promise.all(
    sampleOf(t, 'COMMAND', commands, 2).map(async ([args, check]) => check(await npm(...args))),
  );
});

const owned = new DisposableList();
t.teardown(() => owned.dispose());
let running: DemonstrationPlatform;
let folder: string;
t.before(async () => {
  folder = temporaryFolder(owned);
  running = owned.add(
    await openDemonstrationPlatform({
      env: { PORT: '0', ...TEST_SETTINGS },
      dataDir: path.join(folder, '.parley'),
      logger: silentLogger(),
      fastEmulators: true,
    }),
  );
});

/** The blocks that hold a text, as they stand in the documents, but for what a reader fills in. */
function script(marks: readonly string[], filledIn: Record<string, string>): string {
  const found = blocks.filter(({ text }) => marks.some((mark) => text.includes(mark)));
  if (found.length !== marks.length) throw new Error(`${marks.join(', ')}: not in a block each`);
  let text = found.map((block) => block.text).join('\n');
  for (const [blank, value] of Object.entries(filledIn)) {
    if (!text.includes(blank)) throw new Error(`${blank} is nowhere in ${marks.join(', ')}`);
    text = text.replaceAll(blank, value);
  }
  return `set -eu\n${text}`;
}

const shell = async (text: string, env: NodeJS.ProcessEnv = {}): Promise<string> =>
  (await run('sh', ['-c', text], { cwd: folder, env: { ...process.env, ...env } })).stdout;

void t.test('a test of an agent', async (t) => {
  const { platform, demonstration } = running;
  const text = script(['/test-runs/'], { 'http://127.0.0.1:8080': platform.localUrl });
  const results = await shell(text, { PARLEY_API_KEY: demonstration.apiKey });
  t.match(results, /"status":"passed"/);
});

void t.test('a real number', async (t) => {
  const { platform } = running;
  const { userAccounts } = platform.controlPlane.services;
  const { plivo } = platform.carriers;
  const fill = (): Record<string, string> => ({ 'https://voice.example.com': platform.localUrl });
  const answers = await shell(
    `${script(['/auth/v1/register'], { ...fill(), '"password": "…"': '"password": "tall-lamps-cross-quietly"', '"setup_code": "…"': `"setup_code": "${userAccounts.setupCode()}"` })}`,
  );
  const token = /"access_token":"([^"]+)"/.exec(answers)![1]!;
  const authorization = { authorization: `Bearer ${token}` };
  const org = (await (await fetch(`${platform.localUrl}/v1/orgs`, { headers: authorization })).json()) as {
    items: { id: string }[];
  };
  const orgId = org.items[0]!.id;
  const projects = (await (
    await fetch(`${platform.localUrl}/v1/orgs/${orgId}/projects`, { headers: authorization })
  ).json()) as { items: { id: string }[] };
  const env = { ORG: orgId, PROJECT: projects.items[0]!.id };
  const head = `api=${platform.localUrl}; json='content-type: application/json'; auth='Authorization: Bearer ${token}'\nuuidgen() { cat /proc/sys/kernel/random/uuid; }\n`;
  const stored = script(['/telephony-accounts -d'], {
    'MA…': plivo!.credentials['auth_id']!,
    '"auth_token": "…"': `"auth_token": "${plivo!.credentials['auth_token']!}"`,
    'tel_…': '$tel',
  });
  const [create, verify] = commandsOf(stored.replace('set -eu\n', ''));
  const account = await shell(
    `${head}tel=$(${create!} | grep -o 'tel_[a-z0-9]*' | head -n 1)\n${verify!}\necho; echo $tel`,
    env,
  );
  t.match(account, /"ok":true/);
  const telephonyAccount = account.trim().split('\n').at(-1)!;
  const agent = await fetch(`${platform.localUrl}/v1/orgs/${orgId}/projects/${env.PROJECT}/agents`, {
    method: 'POST',
    headers: { ...authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Desk', system_prompt: 'Be brief.' }),
  });
  const { id: agentId } = (await agent.json()) as { id: string };
  const [number, deploy] = commandsOf(
    script(['/phone-numbers -d'], {
      'tel_…': telephonyAccount,
      'phn_…': "'$number'",
      'agt_…': agentId,
    }).replace('set -eu\n', ''),
  );
  const deployed = await shell(
    `${head}number=$(${number!} | grep -o 'phn_[a-z0-9]*' | head -n 1)\n${deploy!}`,
    env,
  );
  t.match(deployed, new RegExp(`"agent_id":"${agentId}"`));

  const accepted = /^\{"status":"queued","session_id":"[0-9a-f-]{36}"/;
  await shell(head + script(['-X PATCH $api/v1/telephony-accounts'], { 'tel_…': telephonyAccount }), env);
  t.match(await shell(head + script(['/campaigns/start-call'], { 'agt_…': agentId }), env), accepted);
  const rotated = await fetch(`${platform.localUrl}/api/v1/webhooks/agents/${agentId}/rotate-secret`, {
    method: 'POST',
    headers: authorization,
  });
  const { secret } = (await rotated.json()) as { secret: string };
  const signed = script(['openssl dgst -sha256 -hmac'], { 'whsec_…': secret, 'agt_…': agentId });
  t.match(await shell(head + signed, env), accepted);
});

void t.test('the agent calls', async (t) => {
  const command = (...args: string[]) =>
    run('npm', ['run', '--silent', ...args, '--json'], {
      cwd: ROOT,
      env: { ...process.env, PARLEY_DATA_DIR: path.join(folder, '.parley') },
    });
  const [busy, { stderr, stdout }] = await Promise.all([
    command('call', '--', '--outbound', '--to', '+14155550901').catch(
      (error: { code: number; stdout: string; stderr: string }) => error,
    ),
    command('campaign', '--', '--contacts', '1'),
  ]);
  t.match(busy.stderr, /calls \+14155550901 \(an emulated telephone\)/);
  t.match(JSON.parse(busy.stdout), { status: 'failed', failure_reason: 'busy', turns: [] });
  t.match(busy, { code: 1 }, 'nobody was reached');
  t.match(stderr, /are emulators[^]*1 of 1 done/);
  t.match(JSON.parse(stdout), { status: 'completed', outcomes: { person: { answered: 1 } } });
});

const has = (program: string) =>
  (process.env['PATH'] ?? '').split(':').some((dir) => existsSync(path.join(dir, program)));
const missing = ['openssl', 'socat'].filter((program) => !has(program));

void t.test(
  'TLS on a laptop',
  { skip: missing.length > 0 ? `not installed: ${missing.join(', ')}` : false },
  async (t) => {
    const { platform } = running;
    const text = script(['socat OPENSSL-LISTEN'], {
      'TCP:127.0.0.1:8080': `TCP:${new URL(platform.localUrl).host}`,
      'OPENSSL-LISTEN:8443': 'OPENSSL-LISTEN:0',
    });
    const [certificate, listen] = commandsOf(text.replace('set -eu\n', ''));
    await mkdir(path.join(folder, 'tls'));
    await run('sh', ['-c', certificate!], { cwd: path.join(folder, 'tls') });
    const socat = spawn('sh', ['-c', `exec ${listen!.replace('socat ', 'socat -d -d ')}`], {
      cwd: path.join(folder, 'tls'),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    t.teardown(() => socat.kill());
    let said = '';
    socat.stderr.setEncoding('utf8').on('data', (part: string) => (said += part));
    const port = await eventually('socat', () => /listening on .*:(\d+)/.exec(said)?.[1]);
    const ca = readFileSync(path.join(folder, 'tls/dev.pem'));
    const status = await new Promise((resolve, reject) =>
      httpsRequest(`https://localhost:${port}/health/live`, { ca, family: 4 }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .on('error', reject)
        .end(),
    );
    t.equal(status, 200);
  },
);
