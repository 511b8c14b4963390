import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import t from 'tap';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { CARRIERS } from '@parley/shared/contracts/session-values';
import { silentLogger } from '@parley/shared/logging/logger';
import { openDemonstrationPlatform } from '../src/demonstration/demonstration-platform.ts';
import type { CallResult } from '../src/demonstration/follow-call.ts';
import { DEMONSTRATION_AGENT } from '../src/demonstration/script.ts';
import { readConversation } from '../src/conversations/conversation-file.ts';
import { ConversationRunner } from '../src/conversations/conversation-runner.ts';
import { filesOf, tableOf } from '../src/conversations/run-scripts.ts';
import { openToolAddresses } from '../src/conversations/tool-addresses.ts';
import { LONG, sampleOf } from '../../shared/test/fixtures/long.ts';
import { CommandProcess, ROOT } from './fixtures/system/parley-process.ts';
import { TEST_SETTINGS } from './fixtures/system/test-platform.ts';
import { skip } from './fixtures/talk-page.ts';

// What `npm run call -- --carrier …` holds without further words, on every way of calling. Calls take as long as
// they take to say: all of them at once.
t.setTimeout(600_000);
t.jobs = 4;

const owned = new DisposableList();
t.teardown(() => owned.dispose());
let dataDir: string;
let runner: ConversationRunner;

t.before(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'parley-conversation-'));
  owned.defer(() => rm(dataDir, { recursive: true, force: true }));
  const tools = owned.add(await openToolAddresses());
  const running = owned.add(
    await openDemonstrationPlatform({
      env: { PORT: '0', ...TEST_SETTINGS, VOICE_MODEL: 'on', OUTBOUND_ALLOW: tools.origin },
      dataDir,
      logger: silentLogger(),
      fastEmulators: true,
    }),
  );
  runner = new ConversationRunner({ running, tools });
});

const SAID_BEFORE_THE_INTERRUPTION =
  'One moment, I am looking. Your table is booked for Friday at seven, and your reference is L 42. On Fridays we have live music from eight until eleven, and our chef recommends the trout, which comes fresh from the lake every morning.';
const words = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** What a browser says that a busy machine gives no time to. */
const STARVED = 'recorded only silence';
const commandOf = (carrier: string) => [
  '--disable-warning=ExperimentalWarning',
  path.join(ROOT, 'embedded/src/call.ts'),
  ...['--carrier', carrier, '--json'],
];

/** Nothing of a call is as much work as the start of a browser: the others begin behind it. */
const browserStands = Promise.withResolvers<void>();
if (skip !== false) browserStands.resolve();

const lines = sampleOf(t, 'LINE', ['browser', ...CARRIERS] as const);
// One that is not tried stands in nobody's way.
if (!lines.includes('browser')) browserStands.resolve();
for (const carrier of lines) {
  const options = { buffered: true, skip: carrier === 'browser' ? skip : false };
  void t.test(`${carrier}: barge-in, a tool, keys, a transfer`, options, async (t) => {
    if (carrier !== 'browser') await browserStands.promise;
    const begin = () =>
      owned.add(new CommandProcess(process.execPath, commandOf(carrier), { PARLEY_DATA_DIR: dataDir }));
    let call = begin();
    if (carrier === 'browser') browserStands.resolve(call.prints('answered'));
    let { code } = await call.exited;
    if (carrier === 'browser' && call.output.includes(STARVED)) {
      t.comment('the browser had no time to capture sound: once more');
      call = begin();
      ({ code } = await call.exited);
    }
    t.equal(code, 0, call.output);
    const result = JSON.parse(call.stdout) as CallResult;
    const said = (role: string) => result.turns.filter((turn) => turn.role === role);

    t.equal(said('agent')[0]!.text, DEMONSTRATION_AGENT.greeting);
    const [cut, ...others] = result.turns.filter((turn) => turn.interrupted);
    t.ok(cut, 'the agent was interrupted');
    t.same(others, [], 'once');
    const heard = words(cut!.text);
    t.ok(heard.length > 4 && heard.length < words(SAID_BEFORE_THE_INTERRUPTION).length);
    t.same(
      heard,
      words(SAID_BEFORE_THE_INTERRUPTION).slice(0, heard.length),
      'the turn holds what was heard: the beginning of what was said',
    );

    t.match(result.tools.slice(0, 2), [
      { name: 'book_table', ok: true },
      { name: 'book_table', ok: true },
    ]);
    const answers = said('agent').map((turn) => turn.text);
    t.match(
      answers.join('\n'),
      /Your table is now at eight, and the reference is still L 42/,
      'what the tool said',
    );

    t.same(result.keys, ['1'], 'the pound key ends the entry');
    t.ok(said('caller').some((turn) => turn.text === '(keys) 1'));
    t.ok(answers.includes('Thank you for key 1. We will remind you on Friday.'));

    if (carrier === 'browser') {
      t.match(answers.at(-1), /a browser has no telephone line, so I cannot put you through/);
      t.match(result, {
        tools: { length: 2 },
        transfer: null,
        transferred_to: null,
        ended_by: 'caller',
        hangup_reason: 'caller_hangup',
      });
      t.match(result.notes, [/cannot be transferred/, /keys are pressed on the page/]);
    } else {
      t.match(result.tools[2], { name: 'transfer_call', ok: true });
      t.match(result, {
        transfer: 'bridged',
        transferred_to: DEMONSTRATION_AGENT.config.transfer.destinations[0].target.phone_number,
        ended_by: 'agent',
        hangup_reason: 'transferred',
      });
      t.same(result.notes, []);
    }
    t.match(result, { carrier, status: 'ended', failure_reason: null, recording_id: /^rec_/ });
  });
}

void t.test('without a browser the command says what to install', { buffered: true }, async (t) => {
  const call = owned.add(
    new CommandProcess(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        path.join(ROOT, 'embedded/src/call.ts'),
        '--carrier',
        'browser',
      ],
      { PARLEY_DATA_DIR: dataDir, CHROMIUM_PATH: '/nowhere/chromium' },
    ),
  );
  t.match(await call.exited, { code: 1 });
  t.match(call.output, /No browser found at \/nowhere\/chromium. Install Chromium .*apt install chromium/);
});

/**
 * Short ones, each of another part of the product: a run holds ten of them, other ones each time. None that has a deadline of
 * its own, as searches of knowledge have: a busy machine misses it.
 */
const SAMPLE = [
  'card-number',
  'confirmation-refused',
  'consent-refused',
  'filler',
  'hand-over',
  'injected-prompt',
  'keys',
  'keys-masked',
  'language-switch',
  'outbound-busy',
  'remember',
  'slow-tool',
  'street-noise',
  'voicemail',
];
const held = sampleOf(t, 'CONVERSATIONS_FIRST', SAMPLE, 10);

/** Whoever speaks with pauses that are not theirs, because the machine gives them no time, is understood otherwise. */
const MOST_LATE_MS = 200;
const ATTEMPTS = 3;

const folder = path.join(ROOT, 'embedded/conversations');
for (const file of await filesOf(folder)) {
  const name = path.basename(file, '.yaml');
  if (!LONG && !held.includes(name)) continue;
  void t.test(`the conversation ${name} goes as its file says`, { buffered: true }, async (t) => {
    await browserStands.promise;
    const conversation = await readConversation(file);
    for (let attempt = 1; ; attempt++) {
      const delay = monitorEventLoopDelay({ resolution: 10 });
      delay.enable();
      const result = await runner.run(conversation, new AbortController().signal);
      delay.disable();
      const late = Math.round(delay.max / 1e6);
      if (result.ok || late < MOST_LATE_MS || attempt === ATTEMPTS)
        return void t.ok(result.ok, tableOf(result));
      t.comment(`what was said came up to ${late} ms late: once more`);
    }
  });
}
