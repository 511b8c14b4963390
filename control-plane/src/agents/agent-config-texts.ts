import { defaultAgentConfig } from '@parley/shared/contracts/agent-config';

interface JsonSchema {
  description?: string;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  additionalProperties?: JsonSchema | boolean;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
}

/**
 * Puts what each setting does into the JSON Schema of a `config`.
 * @param defaults what is left out is as in a config that sets nothing: it says so
 */
export function describeConfig(schema: object, { defaults = false } = {}): void {
  describeAt(schema as JsonSchema, '', defaults);
}

function describeAt(schema: JsonSchema, at: string, defaults: boolean): void {
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const path = at === '' ? name : `${at}.${name}`;
    const text = AGENT_CONFIG_TEXTS[path];
    if (text !== undefined) property.description = text + (defaults ? defaultOf(path) : '');
    describeAt(property, path, defaults);
  }
  const parts = [schema.items, schema.additionalProperties, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  for (const part of parts) if (typeof part === 'object') describeAt(part, at, defaults);
}

/** What a setting is where nobody sets it: requests are partial, so that their schema cannot say it. */
function defaultOf(path: string): string {
  let value: unknown = defaultAgentConfig();
  for (const key of path.split('.')) value = isRecord(value) ? value[key] : undefined;
  // A section has the defaults of its settings; two settings have another default for new agents, as their texts say.
  const isSection = isRecord(value) && Object.keys(value).length > 0;
  const forNewAgents = ['auto_database', 'answer_detection.enabled'].includes(path);
  if (value === undefined || isSection || forNewAgents) return '';
  return ` Default: \`${JSON.stringify(value)}\`.`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What each setting of an agent's `config` does, by its path: unit and effect. Bounds the schema says. */
export const AGENT_CONFIG_TEXTS: Readonly<Record<string, string>> = {
  timezone: "IANA timezone of `system.*` times and calling hours; null: the project's.",

  language: 'Languages of the conversation.',
  'language.primary': 'BCP 47 tag of the language that calls begin in.',
  'language.additional': 'Further languages that the agent may change to, as BCP 47 tags.',
  'language.detection':
    "When the caller's language is looked for: never, in the first turn, or in every turn.",
  'language.voices':
    'Models, voice and greeting by language tag; what is left out stays as it is for the agent.',
  'language.voices.stt_id': 'Speech-to-text model of this language.',
  'language.voices.tts_id': 'Text-to-speech model of this language.',
  'language.voices.tts_voice_id': 'Voice of this language.',
  'language.voices.greeting': 'Greeting of this language; variables are filled in.',

  greeting: 'How a call begins.',
  'greeting.mode':
    'Who speaks first: the agent with its `greeting`, the agent with words that the model makes up, or the caller.',
  'greeting.delay_ms': 'Milliseconds from the start of the call to the greeting.',
  'greeting.interruptible': 'Whether the caller can interrupt the greeting.',
  'greeting.audio_asset_id': 'Audio asset that is played instead of the spoken greeting.',
  'greeting.caller_first_timeout_seconds':
    'With `caller_first`: seconds of silence after which the agent greets all the same.',

  llm: 'How the language model is asked.',
  'llm.temperature': 'Sampling temperature: 0 gives the same answer most often, higher values vary more.',
  'llm.max_output_tokens': 'Tokens that one reply may have at most.',
  'llm.request_timeout_ms': 'Milliseconds that a model may take to begin; then the next fallback is asked.',
  'llm.fallback_llm_ids': 'Models that are asked in this order when the one before fails or is too late.',

  stt: 'How the caller is understood.',
  'stt.keywords': 'Names and terms that the speech-to-text model should expect.',
  'stt.endpointing_ms':
    "Milliseconds of silence after which the speech-to-text model ends a sentence; null: the model's own.",
  'stt.noise_suppression':
    'How strongly noise is taken out of what the speech-to-text model hears. In a small trial it understood less with it in every noise but that of a car; recordings and turn-taking have the audio as it came. About 0.8 s of processor time a minute. Refused where the suppressor is not installed.',
  'stt.fallback_stt_ids': 'Models that are used in this order when the one before fails.',

  tts: 'How the agent sounds.',
  'tts.speed': 'Pace of the voice; 1 is its own. A provider with narrower limits uses its nearest.',
  'tts.volume': 'Loudness of the voice, as a factor of the amplitude; 1 is its own.',
  'tts.stability': "How even the voice is, where the provider has such a setting; null: the voice's own.",
  'tts.pronunciations': 'Words that are spoken otherwise than they are written.',
  'tts.pronunciations.word':
    'The whole word as it is written. One with a capital fits only as it is written, any other in every case.',
  'tts.pronunciations.say': 'The text that is spoken in its place.',
  'tts.normalize_text':
    'Whether numbers, amounts, dates, times, telephone numbers, addresses, units and abbreviations are written out before they are spoken; transcripts keep the text of the agent.',
  'tts.fallback_voices': 'Voices that are used in this order when the one before fails.',
  'tts.fallback_voices.tts_id': 'Text-to-speech model.',
  'tts.fallback_voices.tts_voice_id': "Voice of that model; null: the model's own.",

  background_audio: 'A sound that is heard behind the agent on telephone lines; recordings are without it.',
  'background_audio.audio_asset_id': 'Audio asset that is repeated; null: none.',
  'background_audio.volume': 'Loudness: 0 is silent, 1 is as recorded.',

  turn_taking: "How the end of the caller's turn is found.",
  'turn_taking.mode':
    'What ends a turn: the signal of the speech-to-text model; its words and a pause (`semantic`); or plain silence.',
  'turn_taking.eagerness': 'Scales the two endpointing times: patient 1.5, balanced 1, eager 0.7.',
  'turn_taking.min_endpointing_ms':
    'With `semantic`: milliseconds of silence that end a turn whose words sound complete.',
  'turn_taking.max_endpointing_ms':
    'Milliseconds of silence that end a turn whose words sound incomplete, or that dictates something.',
  'turn_taking.vad_threshold': 'How sure the voice model must be that a sound is a voice (probability).',
  'turn_taking.vad_min_silence_ms': 'With `silence`: milliseconds without a voice that end a turn.',
  'turn_taking.entity_patience':
    'Whether the agent waits longer while a number, a spelling or an address is being dictated.',
  'turn_taking.preemptive_generation':
    'Whether the agent prepares its reply before the end of the turn is certain: faster, with more model requests.',
  'turn_taking.max_caller_turn_seconds': 'Seconds after which the agent answers a caller who does not stop.',
  'turn_taking.backchannel':
    'Short words of the agent in pauses of a caller who goes on, such as "I see": they take no turn, and no reply waits for them. In telephone calls only: web and text sessions have none.',
  'turn_taking.backchannel.enabled': 'Whether the agent says them.',
  'turn_taking.backchannel.frequency': 'How often, at the pauses that allow it: 0 never, 1 always.',
  'turn_taking.backchannel.phrases': 'The words; an empty list: those of the language.',

  interruption: 'How the caller can interrupt the agent.',
  'interruption.enabled': 'Whether the caller can interrupt at all.',
  'interruption.min_speech_ms':
    'Milliseconds of speech from which on it interrupts; `min_words` must be met, too.',
  'interruption.min_words': 'Words from which on speech interrupts; `min_speech_ms` must be met, too.',
  'interruption.ignore_phrases':
    'Phrases that never interrupt; null: those of the language, such as "uh-huh".',
  'interruption.stop_phrases': 'Phrases that interrupt at once; null: those of the language, such as "stop".',
  'interruption.resume_on_false':
    'Whether the agent goes on where it stopped when the sound was no interruption; otherwise it stays silent.',
  'interruption.false_after_ms': 'Milliseconds without words after which a sound was no interruption.',
  'interruption.while_deciding':
    'What the caller hears of the agent from the first sound of a voice until it is known whether it interrupts: nothing, or the agent 15 dB softer. The recording keeps the full voice.',

  filler: 'What the agent says while a model or a tool takes long.',
  'filler.enabled': 'Whether the agent says anything then.',
  'filler.after_ms': 'Milliseconds of waiting before it does.',
  'filler.messages': 'Sentences to choose from; null: the built-in sentence of the language.',
  'filler.generated':
    'Whether the model words them to fit what the caller said, beside its answer. It has 1.2 s for that, within `after_ms`; without its words one of `messages` is said.',
  'filler.max_per_turn': 'How many of them may come in one turn.',

  silence: 'What happens when nobody speaks. The time runs only while nothing is spoken, awaited or at work.',
  'silence.reminder_after_seconds':
    'Seconds of silence before the caller is reminded, and between reminders.',
  'silence.reminder_messages': 'Reminders, in this order; an empty list: the model words them.',
  'silence.max_reminders': 'How many reminders a silence gets.',
  'silence.end_call_after_seconds':
    'Seconds of silence after which the call ends; not below `reminder_after_seconds`.',
  'silence.end_message': 'What is said before that; empty: nothing.',

  limits: 'What a call may take.',
  'limits.max_duration_seconds': 'Seconds after which a call ends.',
  'limits.warn_before_end_seconds':
    'Seconds before that end at which the agent says so, in its own words of the language, as soon as neither side speaks; 0, or no less than the longest duration: never.',
  'limits.max_tool_steps': 'Rounds of tool calls within one turn.',
  'limits.max_cost_amount':
    "Estimated cost of a call at which it ends, in the org's currency; null: no limit.",
  'limits.max_concurrent_sessions': 'Sessions of this agent that may run at the same time; null: no limit.',

  end_call: 'How the agent ends a call.',
  'end_call.agent_may_end': 'Whether the agent has a tool that ends the call.',
  'end_call.message': 'What is said at the end; empty: what the model says.',
  'end_call.phrases': 'Phrases of the agent after which the call ends.',

  answer_detection: 'Of outbound calls: who or what has answered.',
  'answer_detection.enabled': 'Whether it is found out; true for new agents unless they say otherwise.',
  'answer_detection.decide_within_seconds': 'Seconds after which an unknown answer counts as a person.',
  'answer_detection.voicemail': 'When a voicemail answers.',
  'answer_detection.voicemail.action': 'Hang up, leave a message, or talk as to a person.',
  'answer_detection.voicemail.message': 'The message to leave; empty: what the model thinks of.',
  'answer_detection.voicemail.wait_for_beep_seconds':
    'Seconds to wait for the tone before the message begins.',
  'answer_detection.screening': 'When an assistant asks who calls.',
  'answer_detection.screening.action': 'Answer it, or hang up.',
  'answer_detection.screening.message': 'What it is answered; empty: what the model thinks of.',
  'answer_detection.ivr': 'When a voice menu answers.',
  'answer_detection.ivr.action': 'Let the agent press keys, or hang up.',

  dtmf: 'Keys of the telephone.',
  'dtmf.receive': 'Whether keys that the caller presses reach the agent.',
  'dtmf.send': 'Whether the agent has a tool that presses keys.',
  'dtmf.interrupts': 'Whether a key interrupts the agent.',
  'dtmf.terminator': 'Key that ends an entry; empty: none.',
  'dtmf.inter_digit_timeout_ms': 'Milliseconds without a key that end an entry.',
  'dtmf.max_digits': 'Keys after which an entry ends.',

  transfer: 'To whom the agent can pass a call.',
  'transfer.destinations': 'Where to; without any the agent has no tool for it.',
  'transfer.destinations.id': 'Name by which the agent chooses the destination.',
  'transfer.destinations.description': 'When the agent is to choose it.',
  'transfer.destinations.target': 'A telephone number, another agent, or a variable that holds a number.',
  'transfer.destinations.target.type': 'Kind of target.',
  'transfer.destinations.target.phone_number': 'Number in E.164 form.',
  'transfer.destinations.target.extension':
    'Keys that are pressed once it answers; `w` waits half a second, `W` one.',
  'transfer.destinations.target.agent_id': 'Agent that takes over the conversation.',
  'transfer.destinations.target.name': 'Variable that holds the number.',
  'transfer.destinations.target.allowed_numbers': 'Numbers that the variable may hold.',
  'transfer.destinations.target.allowed_prefixes': 'What the number may begin with.',
  'transfer.destinations.mode': '`blind`: the carrier connects at once. `warm`: the target is told first.',
  'transfer.destinations.announce_to_caller': 'What the caller is told before; empty: nothing.',
  'transfer.destinations.brief_to_target':
    'What the target is told before: nothing, `brief_text`, or a summary.',
  'transfer.destinations.brief_text': 'The text for the target.',
  'transfer.destinations.hold_audio_asset_id': 'Audio asset that the caller hears meanwhile.',
  'transfer.destinations.ring_timeout_seconds': 'Seconds that it may ring.',
  'transfer.destinations.caller_id': "Number that the target sees: the agent's or the caller's.",
  'transfer.destinations.on_failure': 'When nobody answers: back to the agent, hang up, or take a message.',
  'transfer.destinations.failure_message': 'What the caller is told then; empty: an apology in the language.',

  telephony: 'Of calls that the agent makes.',
  'telephony.phone_number_id': "Number that is shown as the caller's; null: the account's.",
  'telephony.ring_timeout_seconds': 'Seconds that a call may ring.',
  'telephony.calling_hours': 'Times at which calls may be made; null: any. Replaced as a whole by PATCH.',
  'telephony.calling_hours.timezone': 'IANA timezone of the windows.',
  'telephony.calling_hours.use_contact_timezone':
    "Whether the contact's timezone counts instead, where known.",
  'telephony.calling_hours.windows': 'Times of the week. None crosses midnight.',
  'telephony.calling_hours.windows.days': 'Days that the window is of.',
  'telephony.calling_hours.windows.start': 'Local time of its beginning, HH:MM.',
  'telephony.calling_hours.windows.end': 'Local time of its end, HH:MM; later than `start`.',

  recording: 'Recording of calls.',
  'recording.enabled':
    'Whether calls are recorded, when session, project and `privacy.store_audio` allow it.',
  'recording.channels': '`dual`: the caller left, the agent right. `mono`: both together.',
  'recording.format':
    'Format of the file. An MP3 is made when the call is over: a seventh of the size of the WAV, both channels kept apart, as long and as silent where something is masked.',
  'recording.consent': 'How the caller is asked.',
  'recording.consent.mode': 'Not at all, told, or asked: then recording begins after a yes.',
  'recording.consent.message': 'What the caller is told or asked.',

  privacy: 'What is kept of a call.',
  'privacy.redact':
    'What is masked in transcript, events, analyses, webhooks and recording. Numbers, e-mail addresses and dates are found by their form, their check digits and what announces them: of 710 such values in written sentences that it had not been tuned for, in English and German, 707. `person_name` and `address` have no such form: a name is masked where it is introduced ("my name is …", titles, relatives) or answers the question for it, and from then on; an address where a street stands with a house number or is announced. Of 20 and 12 such sentences kept apart all were found; a name that is merely mentioned is not.',
  'privacy.redact_before_llm': 'Whether it is masked before a text reaches the language model.',
  'privacy.store_audio': 'Whether audio is stored.',
  'privacy.store_transcript': 'Whether the transcript is stored.',
  'privacy.retention_days':
    "Days after which a session is erased; 0: when the work after the call is done; null: the project's.",

  variables: 'Variables of the texts: `{{name}}` is replaced by the value.',
  'variables.name': 'Name of the variable.',
  'variables.description': 'What it stands for; for people.',
  'variables.default': 'Value when none is given; null: empty.',
  'variables.required': 'Whether a session without a value is refused.',

  pre_call:
    'A request to your server before the greeting. It answers a JSON object of strings, which become variables.',
  'pre_call.url': 'Address, https; null: no request.',
  'pre_call.method': 'POST sends the facts of the session as JSON, GET sends none.',
  'pre_call.headers': 'Headers of the request. Values are secrets: they are read back masked.',
  'pre_call.timeout_ms': 'Milliseconds that your server may take.',
  'pre_call.on_error': 'When it fails: the call goes on without, or is refused.',

  knowledge: 'Use of the attached knowledge bases.',
  'knowledge.mode': '`auto`: searched before each reply. `tool`: when the agent decides.',
  'knowledge.top_k': 'Passages that a search gives at most.',
  'knowledge.min_score': 'Score from which on a passage counts; 1 is the best.',
  'knowledge.max_characters': 'Characters of all passages together.',

  memory: 'What the agent remembers about callers from call to call.',
  'memory.read': 'Whether memories about the caller are put before the prompt.',
  'memory.write': 'Whether new ones are taken from the conversation after the call.',
  'memory.max_items': 'Memories that are used, and kept for a caller.',
  'memory.ttl_days': 'Days that a memory is kept; null: for good.',

  guardrails: 'What the agent must not do.',
  'guardrails.prompt_injection':
    "Whether a model looks, before each answer, for attempts of the caller to change the agent's instructions: `refusal` is said instead of an answer, and what was said is kept from the agent. A judgement of a model, which errs.",
  'guardrails.blocked_topics':
    'Topics that the agent does not speak about. A model judges each sentence of the agent before any of it is heard, within 400 ms; `refusal` is said in place of the rest. A judgement of a model, which errs.',
  'guardrails.refusal': 'What it says instead; empty: the built-in sentence of the language.',
  'guardrails.undecided':
    'What happens when the model has not judged within 400 ms, or fails: the agent says it all the same, or refuses.',

  analysis: 'The analysis after a call.',
  'analysis.lead_analysis': 'Whether calls are analysed: summary, interest, requests and more.',
  'analysis.llm_id': "Language model of the analysis; null: the agent's.",
  'analysis.min_caller_turns': 'Turns of the caller below which a call is not analysed.',
  'analysis.language': "Language that the analysis is written in; null: the call's.",
  'analysis.goal': "What the call is to reach: decides the session's `goal_status`.",

  auto_database:
    'Whether each call becomes a row of a database made for the agent; true for new agents unless they say otherwise.',

  webhooks: 'Requests from and to your systems.',
  'webhooks.start_call': 'Calls that your system starts by a signed request.',
  'webhooks.start_call.enabled': 'Whether it may.',
  'webhooks.start_call.require_timestamp': 'Whether only the signature with a timestamp is taken.',
  'webhooks.start_call.allow_overrides': 'Whether a request may override settings of the agent.',
  'webhooks.call_ended': 'What your system is told after each call.',
  'webhooks.call_ended.enabled': 'Whether it is told; needs a `url`.',
  'webhooks.call_ended.url': 'Address, https.',
  'webhooks.call_ended.web_calls': 'Whether web calls are told of.',
  'webhooks.call_ended.phone_calls': 'Whether telephone calls are told of.',
  'webhooks.call_ended.include_unanswered': 'Whether calls that nobody took are told of.',
  'webhooks.call_ended.timeout_ms': 'Milliseconds that your system may take to answer.',

  widget: 'Calls by visitors of public web pages, who have no credential.',
  'widget.enabled': 'Whether they may call.',
  'widget.allowed_origins': 'Origins of the pages, such as `https://www.example.com`.',
  'widget.title': 'Title that the page shows.',
  'widget.daily_sessions': 'Sessions a day (UTC) of all visitors together.',
  'widget.variables': 'Variables that a page may set.',
};
