import { z } from 'zod';
import { redactionKindSchema } from '../redaction/kinds.ts';

/**
 * An agent's `config`: every key with its default and bounds. Parsing `{}` gives the whole object, so what a
 * gateway receives never has holes. Unknown keys are refused.
 */

const languageTag = z.string().regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 'must be a BCP 47 tag');
const timezone = z.string().refine(isTimezone, 'must be an IANA timezone');
const phoneNumber = z.string().regex(/^\+[1-9]\d{6,14}$/, 'must be an E.164 number such as +14155550100');
const money = z.string().regex(/^\d{1,12}(\.\d{1,6})?$/, 'must be a decimal amount such as "1.25"');
const httpUrl = z.url({ protocol: /^https?$/ }).max(2048);
const phrases = (max: number, length = 200) => z.array(z.string().min(1).max(length)).max(max);

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** No path, no trailing slash, no upper case (RFC 6454, section 6.1): compared as a whole. */
function isOrigin(url: string): boolean {
  // What is no URL has been said to be none.
  return !URL.canParse(url) || new URL(url).origin === url;
}

const localTime = z.string().regex(/^(([01]\d|2[0-3]):[0-5]\d|24:00)$/, 'must be HH:MM');

/** Times of the week in one timezone; none crosses midnight. */
export const windowsSchema = z.strictObject({
  timezone,
  use_contact_timezone: z.boolean().default(false),
  windows: z
    .array(
      z
        .strictObject({
          days: z
            .array(z.enum(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']))
            .min(1)
            .max(7),
          start: localTime,
          end: localTime,
        })
        .refine((window) => window.start < window.end, {
          path: ['end'],
          message: 'must be later than start',
        }),
    )
    .min(1)
    .max(21),
});

export const transferDestinationSchema = z.strictObject({
  id: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  description: z.string().max(500).default(''),
  target: z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('phone'),
      phone_number: phoneNumber,
      extension: z
        .string()
        .regex(/^[0-9*#wW]{1,32}$/)
        .nullable()
        .default(null),
    }),
    z.strictObject({ type: z.literal('agent'), agent_id: z.string() }),
    z.strictObject({
      type: z.literal('variable'),
      name: z.string(),
      allowed_numbers: z.array(phoneNumber).max(100).optional(),
      allowed_prefixes: z
        .array(z.string().regex(/^\+\d{1,14}$/))
        .max(100)
        .optional(),
    }),
  ]),
  mode: z.enum(['blind', 'warm']).default('blind'),
  announce_to_caller: z.string().max(1000).default(''),
  brief_to_target: z.enum(['none', 'text', 'summary']).default('none'),
  brief_text: z.string().max(1000).default(''),
  hold_audio_asset_id: z.string().nullable().default(null),
  ring_timeout_seconds: z.number().int().min(5).max(120).default(30),
  caller_id: z.enum(['agent', 'caller']).default('agent'),
  on_failure: z.enum(['return', 'hangup', 'voicemail']).default('return'),
  failure_message: z.string().max(1000).default(''),
});
/** Whom a caller may be brought to. */
export type TransferDestination = z.output<typeof transferDestinationSchema>;

export const agentConfigSchema = z.strictObject({
  timezone: timezone.nullable().default(null),
  language: z
    .strictObject({
      primary: languageTag.default('en-US'),
      additional: z.array(languageTag).max(10).default([]),
      detection: z.enum(['off', 'first_turn', 'every_turn']).default('off'),
      voices: z
        .record(
          languageTag,
          z.strictObject({
            stt_id: z.string().optional(),
            tts_id: z.string().optional(),
            tts_voice_id: z.string().optional(),
            greeting: z.string().max(2000).optional(),
          }),
        )
        .default({}),
    })
    .prefault({}),
  greeting: z
    .strictObject({
      mode: z.enum(['agent_first', 'agent_first_generated', 'caller_first']).default('agent_first'),
      delay_ms: z.number().int().min(0).max(5000).default(0),
      interruptible: z.boolean().default(true),
      audio_asset_id: z.string().nullable().default(null),
      caller_first_timeout_seconds: z.number().int().min(1).max(60).default(8),
    })
    .prefault({}),
  llm: z
    .strictObject({
      temperature: z.number().min(0).max(2).default(0.7),
      max_output_tokens: z.number().int().min(16).max(4096).default(400),
      request_timeout_ms: z.number().int().min(1000).max(30_000).default(8000),
      fallback_llm_ids: z.array(z.string()).max(3).default([]),
    })
    .prefault({}),
  stt: z
    .strictObject({
      keywords: phrases(100, 60).default([]),
      endpointing_ms: z.number().int().min(10).max(2000).nullable().default(null),
      noise_suppression: z.enum(['off', 'standard', 'high']).default('off'),
      fallback_stt_ids: z.array(z.string()).max(3).default([]),
    })
    .prefault({}),
  tts: z
    .strictObject({
      speed: z.number().min(0.5).max(2).default(1),
      volume: z.number().min(0).max(2).default(1),
      stability: z.number().min(0).max(1).nullable().default(null),
      pronunciations: z
        .array(z.strictObject({ word: z.string().min(1).max(100), say: z.string().max(200) }))
        .max(200)
        .default([]),
      normalize_text: z.boolean().default(true),
      fallback_voices: z
        .array(z.strictObject({ tts_id: z.string(), tts_voice_id: z.string().nullable().default(null) }))
        .max(3)
        .default([]),
    })
    .prefault({}),
  background_audio: z
    .strictObject({
      audio_asset_id: z.string().nullable().default(null),
      volume: z.number().min(0).max(1).default(0.2),
    })
    .prefault({}),
  turn_taking: z
    .strictObject({
      mode: z.enum(['stt', 'semantic', 'silence']).default('stt'),
      eagerness: z.enum(['patient', 'balanced', 'eager']).default('balanced'),
      min_endpointing_ms: z.number().int().min(0).max(2000).default(300),
      max_endpointing_ms: z.number().int().min(300).max(10_000).default(2500),
      vad_threshold: z.number().min(0.1).max(0.95).default(0.5),
      vad_min_silence_ms: z.number().int().min(50).max(2000).default(300),
      entity_patience: z.boolean().default(true),
      preemptive_generation: z.boolean().default(true),
      max_caller_turn_seconds: z.number().int().min(10).max(600).default(60),
      backchannel: z
        .strictObject({
          enabled: z.boolean().default(false),
          frequency: z.number().min(0).max(1).default(0.4),
          phrases: phrases(20).default([]),
        })
        .prefault({}),
    })
    .refine((turns) => turns.max_endpointing_ms >= turns.min_endpointing_ms, {
      path: ['max_endpointing_ms'],
      message: 'must not be below min_endpointing_ms',
    })
    .prefault({}),
  interruption: z
    .strictObject({
      enabled: z.boolean().default(true),
      min_speech_ms: z.number().int().min(0).max(3000).default(300),
      min_words: z.number().int().min(0).max(10).default(0),
      ignore_phrases: phrases(100).nullable().default(null),
      stop_phrases: phrases(100).nullable().default(null),
      resume_on_false: z.boolean().default(true),
      false_after_ms: z.number().int().min(200).max(5000).default(1500),
      while_deciding: z.enum(['silence', 'duck']).default('silence'),
    })
    .prefault({}),
  filler: z
    .strictObject({
      enabled: z.boolean().default(true),
      after_ms: z.number().int().min(500).max(10_000).default(1800),
      messages: z.array(z.string().min(1).max(200)).min(1).max(10).nullable().default(null),
      generated: z.boolean().default(false),
      max_per_turn: z.number().int().min(0).max(5).default(2),
    })
    .prefault({}),
  silence: z
    .strictObject({
      reminder_after_seconds: z.number().int().min(2).max(120).default(8),
      reminder_messages: phrases(10).default([]),
      max_reminders: z.number().int().min(0).max(10).default(2),
      end_call_after_seconds: z.number().int().min(5).max(3600).default(30),
      end_message: z.string().max(1000).default(''),
    })
    .refine((silence) => silence.end_call_after_seconds >= silence.reminder_after_seconds, {
      path: ['end_call_after_seconds'],
      message: 'must not be below reminder_after_seconds',
    })
    .prefault({}),
  limits: z
    .strictObject({
      max_duration_seconds: z.number().int().min(10).max(14_400).default(1800),
      warn_before_end_seconds: z.number().int().min(0).max(600).default(0),
      max_tool_steps: z.number().int().min(1).max(20).default(5),
      max_cost_amount: money.nullable().default(null),
      max_concurrent_sessions: z.number().int().min(1).max(10_000).nullable().default(null),
    })
    .prefault({}),
  end_call: z
    .strictObject({
      agent_may_end: z.boolean().default(true),
      message: z.string().max(1000).default(''),
      phrases: phrases(20).default([]),
    })
    .prefault({}),
  answer_detection: z
    .strictObject({
      enabled: z.boolean().default(false),
      decide_within_seconds: z.number().int().min(2).max(30).default(6),
      voicemail: z
        .strictObject({
          action: z.enum(['hangup', 'leave_message', 'continue']).default('hangup'),
          message: z.string().max(1000).default(''),
          wait_for_beep_seconds: z.number().int().min(0).max(30).default(10),
        })
        .prefault({}),
      screening: z
        .strictObject({
          action: z.enum(['answer', 'hangup']).default('answer'),
          message: z.string().max(1000).default(''),
        })
        .prefault({}),
      ivr: z.strictObject({ action: z.enum(['navigate', 'hangup']).default('navigate') }).prefault({}),
    })
    .prefault({}),
  dtmf: z
    .strictObject({
      receive: z.boolean().default(true),
      send: z.boolean().default(true),
      interrupts: z.boolean().default(true),
      terminator: z.enum(['#', '*', '']).default('#'),
      inter_digit_timeout_ms: z.number().int().min(500).max(10_000).default(3000),
      max_digits: z.number().int().min(1).max(64).default(20),
    })
    .prefault({}),
  transfer: z
    .strictObject({ destinations: z.array(transferDestinationSchema).max(20).default([]) })
    .prefault({}),
  telephony: z
    .strictObject({
      phone_number_id: z.string().nullable().default(null),
      ring_timeout_seconds: z.number().int().min(5).max(120).default(30),
      calling_hours: windowsSchema.nullable().default(null),
    })
    .prefault({}),
  recording: z
    .strictObject({
      enabled: z.boolean().default(true),
      channels: z.enum(['dual', 'mono']).default('dual'),
      format: z.enum(['wav', 'mp3']).default('wav'),
      consent: z
        .strictObject({
          mode: z.enum(['none', 'announce', 'ask']).default('none'),
          message: z.string().max(1000).default(''),
        })
        .prefault({}),
    })
    .prefault({}),
  privacy: z
    .strictObject({
      redact: z.array(redactionKindSchema).max(9).default([]),
      redact_before_llm: z.boolean().default(false),
      store_audio: z.boolean().default(true),
      store_transcript: z.boolean().default(true),
      retention_days: z.number().int().min(0).max(3650).nullable().default(null),
    })
    .prefault({}),
  variables: z
    .array(
      z.strictObject({
        name: z.string().min(1).max(64),
        description: z.string().max(500).default(''),
        default: z.string().max(4096).nullable().default(null),
        required: z.boolean().default(false),
      }),
    )
    .max(100)
    .default([]),
  pre_call: z
    .strictObject({
      url: httpUrl.nullable().default(null),
      method: z.enum(['POST', 'GET']).default('POST'),
      headers: z.record(z.string().max(128), z.string().max(2048)).default({}),
      timeout_ms: z.number().int().min(200).max(10_000).default(2500),
      on_error: z.enum(['continue', 'reject']).default('continue'),
    })
    .prefault({}),
  knowledge: z
    .strictObject({
      mode: z.enum(['off', 'auto', 'tool']).default('auto'),
      top_k: z.number().int().min(1).max(20).default(4),
      min_score: z.number().min(0).max(1).default(0.3),
      max_characters: z.number().int().min(500).max(20_000).default(6000),
    })
    .prefault({}),
  memory: z
    .strictObject({
      read: z.boolean().default(false),
      write: z.boolean().default(false),
      max_items: z.number().int().min(1).max(100).default(20),
      ttl_days: z.number().int().min(1).max(3650).nullable().default(null),
    })
    .prefault({}),
  guardrails: z
    .strictObject({
      prompt_injection: z.boolean().default(false),
      blocked_topics: phrases(20).default([]),
      refusal: z.string().max(1000).default(''),
      undecided: z.enum(['say', 'refuse']).default('say'),
    })
    .prefault({}),
  analysis: z
    .strictObject({
      lead_analysis: z.boolean().default(true),
      llm_id: z.string().nullable().default(null),
      min_caller_turns: z.number().int().min(0).max(100).default(1),
      language: languageTag.nullable().default(null),
      goal: z.string().max(1000).default(''),
    })
    .prefault({}),
  auto_database: z.boolean().default(false),
  webhooks: z
    .strictObject({
      start_call: z
        .strictObject({
          enabled: z.boolean().default(false),
          require_timestamp: z.boolean().default(false),
          allow_overrides: z.boolean().default(false),
        })
        .prefault({}),
      call_ended: z
        .strictObject({
          enabled: z.boolean().default(false),
          url: httpUrl.nullable().default(null),
          web_calls: z.boolean().default(true),
          phone_calls: z.boolean().default(true),
          include_unanswered: z.boolean().default(false),
          timeout_ms: z.number().int().min(1000).max(30_000).default(10_000),
        })
        .prefault({}),
    })
    .prefault({}),
  widget: z
    .strictObject({
      enabled: z.boolean().default(false),
      allowed_origins: z
        .array(
          z
            .url({ protocol: /^https?$/ })
            .max(300)
            .refine(isOrigin, 'must be an origin as browsers send it, such as https://www.example.com'),
        )
        .max(20)
        .default([]),
      title: z.string().max(120).default(''),
      daily_sessions: z.number().int().min(1).max(100_000).default(200),
      variables: z.array(z.string().min(1).max(64)).max(100).default([]),
    })
    .prefault({}),
});

/** All keys present. */
export type AgentConfig = z.output<typeof agentConfigSchema>;
/** What a client may send. */
export type AgentConfigInput = z.input<typeof agentConfigSchema>;

/** The config of an agent that sets nothing. */
export function defaultAgentConfig(): AgentConfig {
  return agentConfigSchema.parse({});
}
