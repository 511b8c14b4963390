import t from 'tap';
import { agentConfigSchema, type AgentConfigInput } from '@parley/shared/contracts/agent-config';
import { sessionPlanSchema } from '@parley/shared/contracts/session-plan';
import type { ModelCatalog } from '../providers/model-catalog.ts';
import { newRecord } from '../storage/new-record.ts';
import type { SessionAgent } from './session-agent.ts';
import { sessionCollection } from './session-model.ts';
import { resolveProviders, toSessionPlan } from './session-plan.ts';

const session = newRecord(sessionCollection, {
  ...{ _id: '0195f8a1-7f2a-7000-8000-000000000001', org_id: 'org_1', project_id: 'prj_1' },
  ...{ channel: 'telephony', direction: 'outbound', provider: 'twilio', transport: 'media_stream' },
  ...{ status: 'created', llm_id: 'llm', stt_id: 'stt', tts_id: 'tts', tts_voice_id: 'anna' },
  ...{ slot_scopes: [], created_at: new Date('2030-01-02T03:04:05Z') },
});

const agentWith = (config: AgentConfigInput): SessionAgent => ({
  ...{ agent_id: 'agt_1', version: 1, org_id: 'org_1', project_id: 'prj_1', name: 'Desk' },
  ...{
    system_prompt: '',
    greeting: 'Hello.',
    llm_id: 'llm',
    stt_id: 'stt',
    tts_id: 'tts',
    tts_voice_id: 'anna',
  },
  ...{ flow_definition: null, knowledge_base_ids: [], archived: false },
  config: agentConfigSchema.parse(config),
});

/** Has every model but those of whose name is said `gone`. */
const catalog: Pick<ModelCatalog, 'resolve'> = {
  resolve: (_org, id, { language, voice, options }) =>
    Promise.resolve(
      id.includes('gone')
        ? undefined
        : {
            ...{ id, provider: 'deepgram', emulated: true, base_url: 'http://127.0.0.1:1', credential: null },
            ...{ model: id, language, options, ...(voice ? { voice } : {}) },
          },
    ),
};

void t.test(
  'models stand in the plan as the agent names them, those behind it that can be used',
  async (t) => {
    const agent = agentWith({
      llm: { fallback_llm_ids: ['llm_gone', 'llm_2', 'llm_3'] },
      stt: { fallback_stt_ids: ['stt_2'], keywords: ['Parley'], endpointing_ms: 120 },
      tts: {
        speed: 1.2,
        volume: 0.5,
        stability: 0.4,
        fallback_voices: [{ tts_id: 'tts_2', tts_voice_id: 'berta' }, { tts_id: 'tts_3' }],
      },
    });
    const { llm, stt, tts } = await resolveProviders(catalog, session, agent);
    t.same(
      llm.map(({ id }) => id),
      ['llm', 'llm_2', 'llm_3'],
    );
    t.match(stt, [
      { id: 'stt', options: { keywords: ['Parley'], endpointing_ms: 120 } },
      { id: 'stt_2', options: { keywords: ['Parley'], endpointing_ms: 120 } },
    ]);
    t.match(tts, [
      { id: 'tts', voice: 'anna', options: { speed: 1.2, volume: 0.5, stability: 0.4 } },
      { id: 'tts_2', voice: 'berta' },
      { id: 'tts_3' },
    ]);
  },
);

void t.test(
  'each further language has its models, voice and greeting, else those of the agent',
  async (t) => {
    const voices = {
      'de-DE': { stt_id: 'stt_de', tts_id: 'tts_de', tts_voice_id: 'berta', greeting: 'Hallo.' },
    };
    const language = { primary: 'en-GB', additional: ['de-DE', 'fr-FR'], voices };
    const { languages, stt } = await resolveProviders(catalog, session, agentWith({ language }));
    t.match(stt, [{ id: 'stt', language: 'en-GB' }]);
    t.match(languages, {
      'de-DE': {
        stt: [{ id: 'stt_de', language: 'de-DE' }],
        tts: [{ id: 'tts_de', voice: 'berta', language: 'de-DE' }],
        greeting: 'Hallo.',
      },
      'fr-FR': {
        stt: [{ id: 'stt', language: 'fr-FR' }],
        tts: [{ id: 'tts', voice: 'anna' }],
        greeting: null,
      },
    });
  },
);

void t.test(
  'what the agent says of zone, limits, recording, privacy and answers stands in the plan',
  async (t) => {
    const planOf = async (config: AgentConfigInput) => {
      const agent = agentWith(config);
      return sessionPlanSchema.parse(
        toSessionPlan({
          ...{ session, agent, projectTimezone: 'Europe/Paris', claimId: 'claim_12345678', leg: 0 },
          ...{
            recording: { _id: 'rec_1', key: 'k', format: 'wav' },
            recordingStore: 'file',
            history: [],
            flow: null,
            tools: [],
            memories: [],
          },
          providers: await resolveProviders(catalog, session, agent),
          prices: {
            currency: 'USD',
            per_minute: 1,
            stt_minute: 1,
            llm_in: 1,
            llm_out: 1,
            tts_1k: 1,
            spent: 0,
          },
          ...{ knowledgeBaseIds: [], mayNote: false, toolCallLimits: [], assets: {}, outboundAllow: [] },
        }),
      );
    };
    t.match(await planOf({}), {
      system: { timezone: 'Europe/Paris' },
      limits: { max_duration_seconds: 1800, max_cost_amount: null },
      prices: { ceiling: null },
      record: { channels: 'dual' },
      redaction: { kinds: [], before_llm: false },
      answer_detection: undefined,
    });
    t.match(
      await planOf({
        timezone: 'Asia/Tokyo',
        limits: { max_duration_seconds: 77, max_cost_amount: '1.50' },
        recording: { channels: 'mono' },
        privacy: { redact: ['email'], redact_before_llm: true },
        answer_detection: { enabled: true, decide_within_seconds: 4 },
      }),
      {
        system: { timezone: 'Asia/Tokyo' },
        limits: { max_duration_seconds: 77, max_cost_amount: '1.50' },
        prices: { ceiling: 1_500_000_000 },
        record: { channels: 'mono' },
        redaction: { kinds: ['email'], before_llm: true },
        answer_detection: { deadline_ms: 4000 },
      },
    );
  },
);
