import { DisposableList } from '@parley/shared/async/disposable-list';
import type { Logger } from '@parley/shared/logging/logger';
import { carrierEmulators } from '@parley/emulators/carriers/carrier-emulators';
import { CARRIERS } from '@parley/shared/contracts/session-values';
import { openPlatform, type CarrierEmulators, type Platform } from '../platform.ts';
import { CallDesk } from './call-desk.ts';
import { openDemonstrationReceivers, type DemonstrationReceivers } from './receivers.ts';
import { setUpDemonstration, type Demonstration } from './set-up.ts';
import { serveTalkPage, type MintedSession } from '../web/talk-page.ts';

/** The platform with everything the demonstration adds: emulated carriers, receivers, an agent, a desk for calls. */
export interface DemonstrationPlatform {
  readonly platform: Platform;
  readonly demonstration: Demonstration;
  readonly receivers: DemonstrationReceivers;
  readonly desk: CallDesk;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openDemonstrationPlatform(options: {
  env: NodeJS.ProcessEnv;
  dataDir: string;
  logger: Logger;
  fastEmulators?: boolean;
}): Promise<DemonstrationPlatform> {
  const owned = new DisposableList();
  try {
    const receivers = owned.add(await openDemonstrationReceivers(0));
    const platform = owned.add(
      await openPlatform({
        ...options,
        allowOrigins: [receivers.origin],
        openCarriers: async ({ carriers }, reach) => {
          const emulators: CarrierEmulators = {};
          for (const name of CARRIERS)
            emulators[name] = await carrierEmulators[name].open(carriers[name], reach);
          return emulators;
        },
      }),
    );
    const demonstration = await setUpDemonstration(platform, receivers);
    owned.defer(
      serveTalkPage(platform.controlPlane.server, {
        mint: () =>
          demonstration.rest.post<MintedSession>('/v1/realtime/sessions', {
            agent_id: demonstration.agentId,
          }),
        logger: options.logger,
      }),
    );
    const desk = owned.add(
      await CallDesk.open({
        publicUrl: platform.publicUrl,
        localUrl: platform.localUrl,
        rest: demonstration.rest,
        agentId: demonstration.agentId,
        speech: platform.emulators.speech,
        stt: platform.emulators.deepgram,
        carriers: demonstration.lines,
        token: platform.secrets.internal_token,
      }),
    );
    platform.folder.writeRuntime({
      pid: process.pid,
      local_url: platform.localUrl,
      desk_url: desk.url,
      org_id: demonstration.orgId,
      project_id: demonstration.projectId,
      agent_id: demonstration.agentId,
      numbers: Object.fromEntries(
        Object.entries(demonstration.lines).map(([carrier, line]) => [carrier, line.number]),
      ),
    });
    return { platform, demonstration, receivers, desk, [Symbol.asyncDispose]: () => owned.dispose() };
  } catch (error) {
    await owned.dispose();
    throw error;
  }
}
