import t from 'tap';
import { defaultAgentConfig } from '@parley/shared/contracts/agent-config';
import { ValidationError } from '@parley/shared/errors/app-error';
import { UNSUPPORTED_SETTINGS } from './unsupported-settings.ts';
import { applyConfig } from './agent-config-input.ts';

type Json = Record<string, unknown>;

const destination = {
  id: 'desk',
  target: { type: 'phone', phone_number: '+14155550100' },
  mode: 'warm', // transfer, consultation, consults
  announce_to_caller: 'One moment.',
  brief_to_target: 'summary', // caller-brief
  brief_text: 'A customer.',
  hold_audio_asset_id: 'aud_01k5z8r5m2q7v3x9b4n6c8d0ef', // hold-audio
  caller_id: 'caller',
  on_failure: 'hangup',
  failure_message: 'Nobody is there.',
  ring_timeout_seconds: 20,
};

/** Every setting that acts, with a value that is not its default; the file that reads it says where it acts. */
const ACTING: Readonly<Record<string, unknown>> = {
  timezone: 'Asia/Kolkata', // session-plan, prompt
  'language.primary': 'en-GB', // deepgram-stt, prompt, phrases
  'language.additional': ['de-DE'], // call-languages
  'language.detection': 'first_turn', // call-languages, deepgram-stt, text-language
  'language.voices': { 'de-DE': { greeting: 'Hallo' } }, // session-plan
  'greeting.mode': 'caller_first', // open-call
  'greeting.delay_ms': 200,
  'greeting.interruptible': false,
  'greeting.audio_asset_id': 'aud_01k5z8r5m2q7v3x9b4n6c8d0ef', // greeting
  'greeting.caller_first_timeout_seconds': 5,
  'llm.temperature': 0.2, // reply
  'llm.max_output_tokens': 200,
  'llm.request_timeout_ms': 4000,
  'llm.fallback_llm_ids': ['llm_other'], // session-plan, reply
  'stt.keywords': ['Parley'], // deepgram-stt
  'stt.endpointing_ms': 100,
  'stt.fallback_stt_ids': ['stt_other'], // session-plan, open-call
  'tts.speed': 1.1, // elevenlabs-tts
  'tts.volume': 1.5, // gain
  'tts.stability': 0.4,
  'tts.pronunciations': [{ word: 'SQL', say: 'sequel' }], // spoken-form
  'tts.normalize_text': false,
  'tts.fallback_voices': [{ tts_id: 'tts_other' }], // session-plan, speaker
  'background_audio.audio_asset_id': 'aud_01k5z8r5m2q7v3x9b4n6c8d0ef', // background-audio, background-bed
  'background_audio.volume': 0.5,
  'turn_taking.mode': 'semantic', // turn-detector
  'turn_taking.eagerness': 'eager',
  'turn_taking.min_endpointing_ms': 200,
  'turn_taking.max_endpointing_ms': 2000,
  'turn_taking.vad_threshold': 0.6, // caller-hearing
  'turn_taking.vad_min_silence_ms': 400,
  'turn_taking.entity_patience': false,
  'turn_taking.preemptive_generation': false,
  'turn_taking.max_caller_turn_seconds': 30,
  'interruption.enabled': false,
  'interruption.min_speech_ms': 200,
  'interruption.min_words': 2,
  'interruption.ignore_phrases': ['right'],
  'interruption.stop_phrases': ['stop'],
  'interruption.resume_on_false': false,
  'interruption.false_after_ms': 1000,
  'interruption.while_deciding': 'duck', // playout
  'filler.enabled': false, // open-call, reply
  'filler.after_ms': 1000,
  'filler.messages': ['Let me see.'],
  'filler.max_per_turn': 1,
  'silence.reminder_after_seconds': 10, // open-call
  'silence.reminder_messages': ['Hello?'],
  'silence.max_reminders': 1,
  'silence.end_call_after_seconds': 40,
  'silence.end_message': 'Goodbye.',
  'limits.max_duration_seconds': 600,
  'limits.max_tool_steps': 3,
  'limits.max_cost_amount': '1.50', // cost-meter
  'limits.max_concurrent_sessions': 5, // session-slots
  'end_call.agent_may_end': false, // call-tools
  'end_call.message': 'Goodbye.',
  'end_call.phrases': ['have a nice day'],
  'dtmf.receive': false, // open-call
  'dtmf.send': false, // call-tools
  'dtmf.interrupts': false,
  'dtmf.terminator': '*', // dtmf-collector
  'dtmf.inter_digit_timeout_ms': 2000,
  'dtmf.max_digits': 4,
  'transfer.destinations': [
    destination, // transfer, carrier-commands
    { ...destination, id: 'late', on_failure: 'voicemail' }, // caller-message
    { ...destination, id: 'inside', target: { ...destination.target, extension: 'ww12' } }, // carriers' Number
    {
      id: 'other',
      target: { type: 'agent', agent_id: 'agt_01k5z8r5m2q7v3x9b4n6c8d0ef' }, // agent-hand-over, hand-overs
    },
  ],
  'telephony.phone_number_id': 'phn_01k5z8r5m2q7v3x9b4n6c8d0ef', // outbound-queue
  'telephony.ring_timeout_seconds': 40,
  'telephony.calling_hours': {
    timezone: 'UTC',
    windows: [{ days: ['mon'], start: '09:00', end: '17:00' }],
  },
  'recording.enabled': false, // session-creation
  'recording.channels': 'mono', // wav-mixer
  'recording.consent.mode': 'ask', // gateway: recording-consent
  'recording.consent.message': 'May we record?',
  'privacy.redact': ['email'], // gateway: redacting-reporter
  'privacy.redact_before_llm': true, // gateway: call-redaction
  'privacy.store_audio': false, // session-creation
  'privacy.retention_days': 0, // session-creation, retention
  'privacy.store_transcript': false, // call-event-handler
  variables: [{ name: 'customer' }], // session-choices
  'pre_call.url': 'https://example.com/before', // pre-call
  'pre_call.method': 'GET',
  'pre_call.headers': { 'X-Token': 'abc' },
  'pre_call.timeout_ms': 1000,
  'pre_call.on_error': 'reject', // admission-service
  'knowledge.mode': 'tool', // call-knowledge
  'knowledge.top_k': 8,
  'knowledge.min_score': 0.5,
  'knowledge.max_characters': 2000,
  'memory.read': true, // memory-service
  'memory.write': true,
  'memory.max_items': 5,
  'memory.ttl_days': 30,
  'widget.enabled': true, // widget-service
  'widget.allowed_origins': ['https://example.com'],
  'widget.title': 'Ask us',
  'answer_detection.decide_within_seconds': 4,
  'answer_detection.voicemail.action': 'leave_message',
  'answer_detection.voicemail.message': 'Call us back.',
  'answer_detection.voicemail.wait_for_beep_seconds': 5,
  'answer_detection.screening.action': 'hangup',
  'answer_detection.screening.message': 'It is us.',
  'answer_detection.ivr.action': 'hangup',
  'answer_detection.enabled': true, // answering, call-answering
  'widget.daily_sessions': 10,
  'widget.variables': ['name'],
  auto_database: true, // agent-writer, session-rows
  'analysis.lead_analysis': false, // lead-analyst
  'analysis.llm_id': 'llm_other',
  'analysis.min_caller_turns': 2,
  'analysis.language': 'de-DE',
  'analysis.goal': 'A booking',
  'webhooks.start_call.enabled': true, // incoming-calls-webhook
  'webhooks.start_call.require_timestamp': true,
  'webhooks.start_call.allow_overrides': true,
  'webhooks.call_ended.url': 'https://example.com/crm', // call-ended-webhook
  'webhooks.call_ended.web_calls': false,
  'webhooks.call_ended.phone_calls': false,
  'webhooks.call_ended.include_unanswered': true,
  'webhooks.call_ended.timeout_ms': 5000,
};

/** Acts together with the address it needs. */
const WITH_COMPANY: Readonly<Record<string, Json>> = {
  'webhooks.call_ended.enabled': {
    webhooks: { call_ended: { enabled: true, url: 'https://example.com/crm' } },
  },
};

/** Values in bounds that are not what happens anyway. */
const REFUSED: Readonly<Record<string, unknown>> = {
  'stt.noise_suppression': 'high',
  'turn_taking.backchannel.enabled': true,
  'turn_taking.backchannel.frequency': 0.9,
  'turn_taking.backchannel.phrases': ['mhm'],
  'filler.generated': true,
  'limits.warn_before_end_seconds': 30,
  'recording.format': 'mp3',
  'guardrails.prompt_injection': true,
  'guardrails.blocked_topics': ['politics'],
  'guardrails.refusal': 'No.',
};

function nested(path: string, value: unknown): Json {
  return path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Json;
}

/** Paths of everything that is no object; an empty object is a map, and so a value. */
function leaves(value: Json, prefix = ''): string[] {
  return Object.entries(value).flatMap(([key, child]) => {
    const path = `${prefix}${key}`;
    const inside = typeof child === 'object' && child !== null && !Array.isArray(child);
    return inside && Object.keys(child).length > 0 ? leaves(child as Json, `${path}.`) : [path];
  });
}

function refusals(config: Json): { path: string; type: string }[] {
  try {
    applyConfig({ config: {}, webhooks: {} }, config, { outboundAllow: [] });
    return [];
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    return error.details.map(({ loc, type }) => ({ path: loc.slice(2).join('.'), type }));
  }
}

void t.test('every setting is known to act or to be idle', async (t) => {
  const known = [...Object.keys(ACTING), ...Object.keys(WITH_COMPANY), ...Object.keys(REFUSED)];
  t.same(leaves(defaultAgentConfig()).sort(), known.sort());
  const idle = UNSUPPORTED_SETTINGS.map(([path]) => path).filter((path) => !path.includes('*'));
  t.same(idle.sort(), Object.keys(REFUSED).sort());
  t.comment(`${Object.keys(ACTING).length + 1} settings act, ${idle.length} are idle`);
});

void t.test('the defaults are what idle settings are left at', async (t) => {
  const defaults = defaultAgentConfig() as unknown as Json;
  for (const [path, standard] of UNSUPPORTED_SETTINGS) {
    if (path.includes('*')) continue;
    const value = path.split('.').reduce<unknown>((inner, key) => (inner as Json)[key], defaults);
    t.same(value, standard, path);
  }
  t.same(refusals(defaults), []);
});

void t.test('a setting that acts takes other values', async (t) => {
  for (const [path, value] of Object.entries(ACTING)) t.same(refusals(nested(path, value)), [], path);
  for (const [path, config] of Object.entries(WITH_COMPANY)) t.same(refusals(config), [], path);
});

void t.test('a setting that does not act is refused by name', async (t) => {
  for (const [path, value] of Object.entries(REFUSED)) {
    t.same(refusals(nested(path, value)), [{ path, type: 'not_available' }], path);
  }
});

void t.test('what an earlier version took is kept, and only that', async (t) => {
  const stored = { config: { guardrails: { prompt_injection: true, refusal: 'No.' } }, webhooks: {} };
  const change = (config: Json) => applyConfig(stored, config, { outboundAllow: [] }).full;
  t.match(change({ silence: { max_reminders: 1 } }), {
    guardrails: { prompt_injection: true, refusal: 'No.' },
  });
  t.match(change({ guardrails: { prompt_injection: false, refusal: null } }), {
    guardrails: { prompt_injection: false },
  });
  t.throws(() => change({ guardrails: { refusal: 'Never.' } }), ValidationError);
});
