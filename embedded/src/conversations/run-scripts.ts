import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { styleText } from 'node:util';
import type { DisposableList } from '@parley/shared/async/disposable-list';
import { createLogger } from '@parley/shared/logging/logger';
import { openDemonstrationPlatform } from '../demonstration/demonstration-platform.ts';
import { UsageError } from '../command.ts';
import { readConversation } from './conversation-file.ts';
import { ConversationRunner, type ConversationResult } from './conversation-runner.ts';
import { openToolAddresses } from './tool-addresses.ts';

/** Conversations that are held at once. */
const JOBS = 4;

/** What a platform for conversations needs: none of the limits that protect a real one from a single client. */
export const CONVERSATION_SETTINGS = {
  API_REQUESTS_PER_MINUTE: '100000',
  API_REQUESTS_BURST: '10000',
  SESSION_STARTS_PER_MINUTE: '0',
  // Everything shares one event loop, which is late on a busy machine.
  MAX_LOOP_DELAY_MS: '0',
} as const;

/** Of these the emulated ones are needed: a file says what they answer. */
const EMULATED = ['DEEPGRAM', 'OPENAI', 'ELEVENLABS'];

/**
 * Holds the conversations of files, and prints what came of what they expect.
 * @param paths files, and folders of them
 * @returns the exit code: 1 when a fact does not hold
 * @throws UsageError for a file that cannot be read or understood
 */
export async function runScripts(
  owned: DisposableList,
  paths: readonly string[],
  { json, signal }: { json: boolean; signal: AbortSignal },
): Promise<number> {
  const files = (await Promise.all(paths.map(filesOf))).flat();
  const conversations = await Promise.all(files.map(readConversation)).catch((error: unknown) => {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  });
  const tools = owned.add(await openToolAddresses());
  const dataDir = await mkdtemp(path.join(tmpdir(), 'parley-conversations-'));
  owned.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !EMULATED.some((vendor) => name.startsWith(`${vendor}_`))),
  );
  const running = owned.add(
    await openDemonstrationPlatform({
      env: { ...CONVERSATION_SETTINGS, ...env, PORT: '0', OUTBOUND_ALLOW: tools.origin },
      dataDir,
      logger: createLogger({ name: 'parley', level: process.env['LOG_LEVEL'] ?? 'silent' }),
      fastEmulators: true,
    }),
  );
  const runner = new ConversationRunner({ running, tools });
  const results = await runner.runAll(conversations, {
    ...{ jobs: JOBS, signal },
    onResult: (result) => process.stdout.write(json ? `${JSON.stringify(result)}\n` : `${tableOf(result)}\n`),
  });
  const failed = results.filter(({ ok }) => !ok);
  if (!json)
    process.stdout.write(
      failed.length === 0
        ? `\n${results.length} conversations went as expected.\n`
        : `\n${failed.length} of ${results.length} conversations did not go as expected: ${failed.map(({ name }) => name).join(', ')}\n`,
    );
  return failed.length === 0 ? 0 : 1;
}

/** One file, or those of a folder, by name. @throws UsageError */
export async function filesOf(at: string): Promise<string[]> {
  const found = await stat(at).catch(() => null);
  if (!found) throw new UsageError(`--script ${at}: no such file or folder`);
  if (!found.isDirectory()) return [at];
  const names = (await readdir(at)).filter((name) => /\.(ya?ml|json)$/.test(name)).sort();
  if (names.length === 0) throw new UsageError(`--script ${at}: holds no .yaml or .json file`);
  return names.map((name) => path.join(at, name));
}

/** A conversation, a fact a line; what was said only where something does not hold. */
export function tableOf({ name, title, ok, facts, error, duration_ms, turns }: ConversationResult): string {
  const mark = ok ? styleText('green', 'pass') : styleText('red', 'FAIL');
  const lines = [`${mark}  ${name}: ${title} ${styleText('gray', `(${(duration_ms / 1000).toFixed(1)} s)`)}`];
  if (error !== null) lines.push(`      ${error}`);
  for (const fact of facts) {
    lines.push(`      ${fact.ok ? styleText('green', 'ok  ') : styleText('red', 'not ')} ${fact.fact}`);
    if (!fact.ok) lines.push(`           ${styleText('gray', fact.found)}`);
  }
  if (!ok)
    for (const turn of turns)
      lines.push(
        styleText('gray', `      ${turn.role}${turn.interrupted ? ' (cut off)' : ''}: ${turn.text}`),
      );
  return lines.join('\n');
}
