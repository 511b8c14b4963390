import type { AudioAssetService } from '../audio-assets/audio-asset-service.ts';
import type { CallLog } from '../calls/call-log.ts';
import { toTurn } from '../calls/call-log.ts';
import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import type { SessionMemories } from '../memories/session-memories.ts';
import type { ToolCallLimits } from '../rate-limits/tool-call-limits.ts';
import type { RecordingService } from '../recordings/recording-service.ts';
import { AdmissionCredentials } from './admission-credentials.ts';
import { admissionOperations } from './admission-routes.ts';
import { AdmissionService } from './admission-service.ts';
import { HandOvers } from './hand-overs.ts';
import { KeyAdmission, type KeyAdmissionDeps } from './key-admission.ts';
import { SessionLegs } from './session-legs.ts';
import { playedAssets, SessionPlans } from './session-plans.ts';

type AdmissionDeps = ConstructorParameters<typeof AdmissionService>[0];
type CredentialDeps = ConstructorParameters<typeof AdmissionCredentials>[0];
type LegDeps = ConstructorParameters<typeof SessionLegs>[0];
type PlanDeps = ConstructorParameters<typeof SessionPlans>[0];

/** Admission of sockets to sessions, and the plans that gateways get. */
export function createAdmissions({
  audioAssets,
  config,
  callLog,
  memories,
  recordings,
  toolCallLimits,
  ...deps
}: Omit<AdmissionDeps, 'credentials' | 'keys' | 'legs' | 'plans'> &
  KeyAdmissionDeps &
  Omit<CredentialDeps, 'mediaPublicUrl' | 'publicUrl'> &
  LegDeps &
  Omit<PlanDeps, 'settings' | 'sources'> &
  Pick<Platform, 'config'> & {
    audioAssets: Pick<AudioAssetService, 'forPlan'>;
    callLog: CallLog;
    memories: SessionMemories;
    recordings: RecordingService;
    toolCallLimits: Pick<ToolCallLimits, 'of'>;
  }) {
  const plans = new SessionPlans({
    ...deps,
    sources: {
      recording: (session, leg, format) => recordings.forLeg(session, leg, format),
      history: async (sessionId) => (await callLog.turns(sessionId)).map(toTurn),
      memories: (session, agent) => memories.forPlan(session, agent),
      mayNote: (session, agent) => memories.mayNote(session, agent),
      toolCallLimits: ({ org_id, project_id, agent_id, telephony_account_id }) =>
        toolCallLimits.of({
          ...{ orgId: org_id, projectId: project_id },
          ...{ agentId: agent_id, accountId: telephony_account_id },
        }),
      assets: (session, agent) => audioAssets.forPlan(session.project_id, playedAssets(agent)),
    },
    settings: { recordingStore: config.RECORDING_STORE, outboundAllow: config.OUTBOUND_ALLOW },
  });
  const admissions = new AdmissionService({
    ...{ ...deps, plans },
    credentials: new AdmissionCredentials({
      ...deps,
      publicUrl: config.PUBLIC_URL,
      mediaPublicUrl: config.MEDIA_PUBLIC_URL,
    }),
    keys: new KeyAdmission(deps),
    legs: new SessionLegs(deps),
  });
  const handOvers = new HandOvers({ ...deps, plans });
  return {
    admissions,
    internalRoutes: admissionOperations({ admissions, handOvers, recordings }),
  } satisfies Feature & { admissions: AdmissionService };
}
