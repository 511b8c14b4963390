import { DisposableList } from '@parley/shared/async/disposable-list';
import { mediaWsUrl } from '@parley/shared/contracts/addresses';
import { systemEnv, STEADY_AGENT, type Bench } from '../bench.ts';
import { GREETING } from '../scenario/conversation.ts';
import { startControlPlane } from './control-plane.ts';
import { startGateways } from './parley.ts';
import type { SystemUnderTest } from './system.ts';
import { behindTls } from './tls-front.ts';

/**
 * The whole platform: a session is made over REST for every call, its ticket checked and redeemed by the control plane,
 * its events taken in and its end processed there. The gateway alone has the core of the system under test; the
 * control plane and its store share the other one with the simulator.
 */
export async function openWholeSystem(
  bench: Bench,
  options: { maxCalls: number; profile: boolean; tls: boolean; nodeArgs: readonly string[] },
): Promise<SystemUnderTest> {
  if (bench.redisUrl === undefined)
    throw new Error('redis-server is required, and was not found on the path.');
  const owned = new DisposableList();
  try {
    const controlPlane = owned.add(
      await startControlPlane({
        directory: bench.directory,
        env: {
          ...systemEnv(bench),
          REDIS_URL: bench.redisUrl,
          DEEPGRAM_BASE_URL: bench.backend.addresses.deepgram,
          OPENAI_BASE_URL: `${bench.backend.addresses.openai}/v1`,
          ELEVENLABS_BASE_URL: bench.backend.addresses.elevenlabs,
        },
      }),
    );
    const agent = await controlPlane.ask<{ id: string }>(
      'POST',
      `/v1/orgs/${controlPlane.orgId}/projects/${controlPlane.projectId}/agents`,
      {
        name: 'Load test',
        system_prompt: 'You answer questions.',
        greeting: GREETING,
        stt_id: 'stt_deepgram_flux',
        config: STEADY_AGENT,
      },
    );
    const { gateways, startMs } = await startGateways(owned, {
      directory: bench.directory,
      internalUrl: controlPlane.internalUrl,
      internalToken: controlPlane.internalToken,
      redisUrl: bench.redisUrl,
      gateways: 1,
      maxCalls: options.maxCalls,
      cpus: bench.systemCpus,
      profile: options.profile,
      nodeArgs: options.nodeArgs,
      env: systemEnv(bench),
    });
    const gateway = gateways[0]!;
    const system: SystemUnderTest = {
      name: 'parley, whole',
      pids: [gateway.pid],
      startMs,
      reports: false,
      async dial({ carrier }) {
        const session = await controlPlane.ask<{ session_id: string; ws_ticket: string }>(
          'POST',
          '/v1/sessions',
          { agent_id: agent.id, channel: 'telephony', provider: carrier, record: false },
        );
        return {
          url: `${mediaWsUrl(gateway.ready.url, carrier)}/${session.ws_ticket}`,
          sessionId: session.session_id,
        };
      },
      [Symbol.asyncDispose]: () => owned.dispose(),
    };
    return options.tls
      ? await behindTls(system, { cpus: bench.systemCpus, directory: bench.directory })
      : system;
  } catch (error) {
    await owned.dispose();
    throw error;
  }
}
