import type { SessionPlanWire } from '@parley/shared/contracts/session-plan';
import { CONSULT_TALK_MS } from '@parley/shared/contracts/consult';
import type { SessionRecord } from '../sessions/session-record.ts';

/**
 * The plan of a call to whom a caller is to be transferred to (pure): the agent's voice and ears, and nothing that makes it a
 * conversation. A machine that answers is not told of the caller.
 */
export function toConsultPlan(plan: SessionPlanWire, session: SessionRecord): SessionPlanWire {
  const { consult } = session;
  if (!consult) return plan;
  const { config } = plan.agent;
  const { decide_within_seconds: seconds } = plan.agent.config.answer_detection ?? {};
  // Behind an extension is a switchboard first, which sounds like a machine.
  const detects = consult.extension === null;
  const { answer_detection: _asAgent, flow: _none, ...rest } = plan;
  return {
    ...rest,
    consult: { transfer_id: session._id, extension: consult.extension, brief: consult.brief },
    ...(detects && {
      answer_detection: { deadline_ms: (seconds ?? 6) * 1000, carrier: 'async' as const },
    }),
    ...{ memories: [], tools: [], knowledge: { base_ids: [] }, assets: {} },
    record: { ...plan.record, enabled: false },
    limits: { ...plan.limits, max_duration_seconds: Math.ceil(CONSULT_TALK_MS / 1000) + 30 },
    agent: {
      ...plan.agent,
      ...{ greeting: '', flow_definition: null },
      config: {
        ...config,
        greeting: { ...config.greeting, mode: 'agent_first', delay_ms: 0, audio_asset_id: null },
        answer_detection: {
          ...config.answer_detection,
          enabled: detects,
          voicemail: { action: 'hangup' },
          screening: { action: 'hangup' },
          ivr: { action: 'hangup' },
        },
        background_audio: { ...config.background_audio, audio_asset_id: null },
        end_call: { ...config.end_call, phrases: [], message: '' },
        transfer: { destinations: [] },
      },
    },
  };
}
