import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { uuidV7 } from '@parley/shared/ids/new-id';
import type { Backend } from '../backend/backend.ts';
import { GREETING } from '../scenario/conversation.ts';
import { startProcess } from './start-process.ts';
import type { SystemUnderTest } from './system.ts';

const DIRECTORY = fileURLToPath(new URL('../../peers/livekit-agents', import.meta.url));

/** Whether the peer was installed (`npm run loadtest:peers`): it is no dependency of ours. */
export async function hasLivekitAgents(): Promise<boolean> {
  try {
    await access(join(DIRECTORY, 'node_modules/@livekit/agents'));
    return true;
  } catch {
    return false;
  }
}

/**
 * LiveKit agents-js in one process, with the same emulated providers.
 * @param options.hearing `words`: whatever costs time is off, and the recogniser's word alone counts; `voice`: with its own
 * voice activity, and its defaults of interruption and of the end of a turn
 */
export async function openLivekitAgents(options: {
  backend: Backend;
  hearing: 'words' | 'voice';
  cpus: string | undefined;
  directory: string;
}): Promise<SystemUnderTest> {
  const { deepgram, openai, elevenlabs } = options.backend.addresses;
  const peer = await startProcess<{ port: number }>({
    script: join(DIRECTORY, 'adapter.mjs'),
    args: [JSON.stringify({ deepgram, openai, elevenlabs, greeting: GREETING, hearing: options.hearing })],
    nodeArgs: ['--disable-warning=ExperimentalWarning'],
    cwd: DIRECTORY,
    env: { NODE_ENV: 'production' },
    cpus: options.cpus,
    logFile: join(options.directory, 'livekit-agents.log'),
  });
  return {
    name: 'livekit agents-js',
    pids: [peer.pid],
    startMs: peer.startMs,
    reports: false,
    dial: ({ conversation, carrier }) =>
      Promise.resolve({
        url: `ws://127.0.0.1:${peer.ready.port}/${carrier}/${conversation}`,
        sessionId: uuidV7(),
      }),
    [Symbol.asyncDispose]: () => peer.stop(),
  };
}
