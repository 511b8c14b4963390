import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import type { Browser, Page } from 'playwright-core';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { sleep } from '@parley/shared/async/timeout';
import { wavHeader } from '@parley/shared/audio/wav';

/** What the fake microphone is fed with. */
export const MICROPHONE_RATE = 48_000;

const CANDIDATES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Where a browser is installed. @throws Error that says what to install */
export function findBrowser(env: NodeJS.ProcessEnv = process.env): string {
  const wanted = env['CHROMIUM_PATH'];
  const found = (wanted === undefined ? CANDIDATES : [wanted]).find((candidate) => existsSync(candidate));
  if (found !== undefined) return found;
  throw new Error(
    `No browser found at ${wanted ?? CANDIDATES.join(', ')}. Install Chromium (Debian and Ubuntu: apt install chromium), or set CHROMIUM_PATH to its path.`,
  );
}

/** Chromium looks for hosts of its maker at every start; none of that belongs to a call. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--autoplay-policy=no-user-gesture-required',
  '--use-fake-device-for-media-stream',
];

/** @param microphone WAV file that the fake microphone plays each time it is opened; without one it beeps */
export async function launchBrowser(microphone?: string): Promise<Browser> {
  const executablePath = findBrowser();
  const { chromium } = await import('playwright-core').catch((cause: unknown) => {
    throw new Error('playwright-core, which drives the browser, is not installed. Run npm ci.', { cause });
  });
  return chromium.launch({
    executablePath,
    headless: true,
    args: [
      ...ARGUMENTS,
      ...(microphone === undefined
        ? []
        : ['--use-fake-ui-for-media-stream', `--use-file-for-fake-audio-capture=${microphone}%noloop`]),
    ],
  });
}

/** What a person in front of the page does next. Samples are at `MICROPHONE_RATE`. */
export type BrowserStep =
  | { say: Int16Array }
  /** Speaks over the agent when it has been speaking for `afterMs`. */
  | { interrupt: Int16Array; afterMs: number }
  | { press: string }
  | { pauseMs: number };

const OPEN_LIMIT_MS = 30_000;
const MICROPHONE_LIMIT_MS = 10_000;
const AGENT_LIMIT_MS = 15_000;
/** The agent has finished when nothing was heard of it for this long: a busy machine's voice pauses between sentences. */
const AGENT_PAUSE_MS = 2000;
const LAST_WORD_MS = 2500;
const LAST_WORD_LIMIT_MS = 60_000;
/** Echo cancelling and the like settle in it. */
const LEAD_MS = 400;
/** How long noise goes on in a microphone that is not opened anew. */
const NOISE_MS = 120_000;
/** A microphone gives its first sound that long after it was opened, where noise hides the first word. */
const MICROPHONE_START_MS = 400;
/** What the agent still says of the old reply, after it was interrupted, is not the answer. */
const LATE_AUDIO_MS = 300;
const POLL_MS = 50;

type PageState = 'idle' | 'listening' | 'thinking' | 'speaking';

/**
 * A person at the talk page: a real browser whose microphone is fed from files. The page opens its microphone anew
 * for each line that is said, and Chromium reads the file each time.
 */
export class BrowserCaller {
  readonly sessionId: string;
  readonly #page: Page;
  readonly #owned: DisposableList;
  readonly #microphone: Microphone;
  readonly #problems: string[];
  #state: PageState = 'listening';
  #stateSince = performance.now();
  #lastSpokeAt = 0;

  private constructor(deps: {
    sessionId: string;
    page: Page;
    owned: DisposableList;
    microphone: Microphone;
    problems: string[];
  }) {
    this.sessionId = deps.sessionId;
    this.#page = deps.page;
    this.#owned = deps.owned;
    this.#microphone = deps.microphone;
    this.#problems = deps.problems;
  }

  /**
   * Opens the page and begins to talk.
   * @param mint makes the session instead of the page's server: for an agent that the page does not know
   * @param noise around the person, at `MICROPHONE_RATE`; goes round and round
   * @throws Error that says what to install when there is no browser
   */
  static async open(options: {
    url: string;
    mint?: (() => Promise<{ token: string; session_id: string }>) | undefined;
    noise?: Int16Array | undefined;
  }): Promise<BrowserCaller> {
    const owned = new DisposableList();
    try {
      findBrowser();
      const folder = await mkdtemp(path.join(tmpdir(), 'parley-microphone-'));
      owned.defer(() => rm(folder, { recursive: true, force: true }));
      const microphone = { folder, noise: options.noise };
      await writeMicrophone(microphone, new Int16Array(0));
      const browser = await launchBrowser(path.join(folder, MICROPHONE_FILE));
      owned.defer(() => browser.close());
      const context = await browser.newContext({ permissions: ['microphone'] });
      const page = await context.newPage();
      page.setDefaultTimeout(OPEN_LIMIT_MS);
      const problems: string[] = [];
      page.on('pageerror', (error) => problems.push(error.message));
      page.on('console', (message) => {
        if (message.type() === 'error') problems.push(message.text());
      });
      const { mint } = options;
      if (mint) await page.route('**/talk/sessions', async (route) => route.fulfill({ json: await mint() }));
      const minted = page.waitForResponse((response) => response.url().endsWith('/talk/sessions'));
      minted.catch(() => {});
      let notify: (state: PageState) => void = () => {};
      await page.exposeFunction('parleyState', (state: PageState) => notify(state));
      await page.goto(options.url);
      await page.getByRole('button', { name: 'Start talking' }).click();
      const { session_id: sessionId } = (await (await minted).json()) as { session_id: string };
      const caller = new BrowserCaller({ sessionId, page, owned, microphone, problems });
      notify = (state) => caller.#onState(state);
      await page.evaluate(WATCH_STATE);
      await page.locator('#keys:enabled').waitFor();
      return caller;
    } catch (error) {
      await owned.dispose();
      throw error;
    }
  }

  /** The page still talks with the agent. */
  get isTalking(): boolean {
    return this.#state !== 'idle';
  }

  #onState(state: PageState): void {
    const now = performance.now();
    if (this.#state === 'speaking') this.#lastSpokeAt = now;
    if (state === this.#state) return;
    this.#state = state;
    this.#stateSince = now;
    if (state === 'speaking') this.#lastSpokeAt = now;
  }

  /**
   * Does the steps as a person would who listens before speaking, waits for the agent's last word, and ends.
   * @returns who ended it
   * @throws Error with what went wrong in the page
   */
  async run(steps: readonly BrowserStep[]): Promise<'caller' | 'agent'> {
    /** Speech of the agent from before is not waited for again. */
    let since = 0;
    for (const step of steps) {
      if ('pauseMs' in step) await sleep(step.pauseMs);
      else if ('interrupt' in step) {
        await this.#agentSpeaks(since);
        await sleep(step.afterMs);
      } else await this.#agentFinishes(since, AGENT_PAUSE_MS, AGENT_LIMIT_MS * 4);
      if (!this.isTalking) break;
      if ('say' in step) {
        await this.#say(step.say);
        since = performance.now();
      } else if ('interrupt' in step) {
        await this.#say(step.interrupt);
        since = performance.now() + LATE_AUDIO_MS;
      } else if ('press' in step) {
        for (const key of step.press) await this.#page.locator(`#keys button[value="${key}"]`).click();
        since = performance.now();
      }
    }
    await this.#agentFinishes(since, LAST_WORD_MS, LAST_WORD_LIMIT_MS);
    const endedBy = this.isTalking ? 'caller' : 'agent';
    if (this.isTalking) {
      await this.#page.getByRole('button', { name: 'End', exact: true }).click();
      await this.#page.getByText('Not connected').waitFor();
    }
    if (this.#problems.length > 0) throw new Error(`The page reported: ${this.#problems.join('; ')}`);
    return endedBy;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.dispose();
  }

  /** Returns when the last word was said. */
  async #say(samples: Int16Array): Promise<void> {
    await writeMicrophone(this.#microphone, samples);
    await this.#page.locator('#device').dispatchEvent('change');
    const until = performance.now() + MICROPHONE_LIMIT_MS;
    while (this.isTalking && !(await this.#page.evaluate<boolean>(HEARS_VOICE))) {
      if (performance.now() > until) throw new Error('The microphone of the browser recorded only silence.');
      await sleep(POLL_MS / 2);
    }
    if (this.#microphone.noise) await sleep(LEAD_MS + MICROPHONE_START_MS);
    await sleep((samples.length / MICROPHONE_RATE) * 1000);
  }

  #agentSpeaks(since: number): Promise<void> {
    return this.#until(() => this.#state === 'speaking' || this.#lastSpokeAt > since, AGENT_LIMIT_MS);
  }

  async #agentFinishes(since: number, pauseMs: number, limitMs: number): Promise<void> {
    await this.#agentSpeaks(since);
    await this.#until(
      () =>
        this.#state === 'listening' &&
        performance.now() - Math.max(this.#stateSince, this.#lastSpokeAt) > pauseMs,
      limitMs,
    );
  }

  /** Waits until it holds, the conversation is over, or nothing came of it in time. */
  async #until(holds: () => boolean, limitMs: number): Promise<void> {
    const until = performance.now() + limitMs;
    while (this.isTalking && !holds() && performance.now() < until) await sleep(POLL_MS);
  }
}

const MICROPHONE_FILE = 'microphone.wav';

const HEARS_VOICE = `document.getElementById('level').value > 5`;

/** Tells each state of the page, as its status line shows it. */
const WATCH_STATE = `{
  const status = document.getElementById('status');
  const notify = () => void globalThis.parleyState(status.dataset.state);
  new MutationObserver(notify).observe(status, { attributes: true, attributeFilter: ['data-state'] });
  notify();
}`;

/** Where the fake microphone is fed from, and what it hears all the time. */
interface Microphone {
  folder: string;
  noise: Int16Array | undefined;
}

async function writeMicrophone({ folder, noise }: Microphone, speech: Int16Array): Promise<void> {
  const lead = (MICROPHONE_RATE * LEAD_MS) / 1000;
  const noiseLength = noise ? (MICROPHONE_RATE * NOISE_MS) / 1000 : 0;
  const samples = new Int16Array(Math.max(2 * lead + speech.length, noiseLength));
  samples.set(speech, lead);
  if (noise) {
    for (let i = 0; i < samples.length; i++)
      samples[i] = Math.max(-32_768, Math.min(32_767, samples[i]! + noise[i % noise.length]!));
  }
  const header = wavHeader({ sampleRate: MICROPHONE_RATE, channels: 1, dataBytes: samples.byteLength });
  const file = path.join(folder, MICROPHONE_FILE);
  await writeFile(`${file}.new`, Buffer.concat([header, Buffer.from(samples.buffer)]));
  await rename(`${file}.new`, file);
}
