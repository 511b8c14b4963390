import { isDeepStrictEqual } from 'node:util';
import { toPattern, type Fact } from './conversation-file.ts';

/** What was found of a conversation that is over. */
export interface Evidence {
  turns: readonly { role: string; text: string; interrupted: boolean; start_ms?: number; end_ms?: number }[];
  /** The stored recording, whose left channel is the caller's; null where it was not asked for. */
  audio: { sampleRate: number; channels: number; samples: Int16Array } | null;
  events: readonly { type: string; data: Record<string, unknown> }[];
  /** As `GET /v1/sessions/{session_id}` answers. */
  session: Record<string, unknown>;
  /** What the language model got in all its requests for replies, a message a line. */
  llm: readonly string[];
  /** What tools were asked, in order. */
  tools: readonly { name: string; arguments: unknown }[];
  /** By the path of a `get` fact. */
  fetched: Readonly<Record<string, unknown>>;
}

export interface CheckedFact {
  /** The fact in a line. */
  fact: string;
  ok: boolean;
  /** What was there instead; empty when it holds. */
  found: string;
}

/** Compares what was expected with what was found. */
export function checkFact(fact: Fact, evidence: Evidence): CheckedFact {
  const { ok, found } = verdictOf(fact, evidence);
  return { fact: sentenceOf(fact), ok, found: ok ? '' : found };
}

function verdictOf(fact: Fact, evidence: Evidence): { ok: boolean; found: string } {
  const { turns, events, session, llm } = evidence;
  const by = (role: string) => turns.filter((turn) => turn.role === role).map(({ text }) => text);
  const listed = (texts: readonly string[]) =>
    texts.map((text) => JSON.stringify(text)).join(', ') || 'nothing';
  if ('said' in fact)
    return { ok: by('agent').some((text) => fits(fact.said, text)), found: listed(by('agent')) };
  if ('not_said' in fact)
    return { ok: !by('agent').some((text) => fits(fact.not_said, text)), found: listed(by('agent')) };
  if ('heard' in fact)
    return { ok: by('caller').some((text) => fits(fact.heard, text)), found: listed(by('caller')) };
  if ('not_heard' in fact)
    return { ok: !by('caller').some((text) => fits(fact.not_heard, text)), found: listed(by('caller')) };
  if ('interrupted' in fact) {
    const cut = turns.filter((turn) => turn.role === 'agent' && turn.interrupted).map(({ text }) => text);
    return { ok: cut.some((text) => fits(fact.interrupted, text)), found: listed(cut) };
  }
  if ('transcript' in fact) {
    const lines = turns.map(({ role, text }) => `${role}: ${text}`);
    let next = 0;
    for (const line of lines) if (next < fact.transcript.length && fits(fact.transcript[next]!, line)) next++;
    const missing = fact.transcript[next];
    return {
      ok: missing === undefined,
      found: `not in this order: ${JSON.stringify(missing)}; was: ${listed(lines)}`,
    };
  }
  if ('event' in fact || 'no_event' in fact) {
    const type = 'event' in fact ? fact.event : fact.no_event;
    const ofType = events.filter((event) => event.type === type);
    const matching = ofType.filter(({ data }) => holds(fact.data ?? {}, data));
    const found =
      ofType.length === 0 ? 'no such event' : ofType.map(({ data }) => JSON.stringify(data)).join(' ');
    if ('no_event' in fact) return { ok: matching.length === 0, found };
    const ok = fact.times === undefined ? matching.length > 0 : matching.length === fact.times;
    return { ok, found };
  }
  if ('tool' in fact) {
    const calls = evidence.tools.filter(({ name }) => name === fact.tool);
    const matching = calls.filter((call) => holds(fact.arguments ?? {}, call.arguments));
    const ok = fact.times === undefined ? matching.length > 0 : matching.length === fact.times;
    return { ok, found: `${calls.length} requests: ${JSON.stringify(calls.map((call) => call.arguments))}` };
  }
  if ('end' in fact || 'session' in fact) {
    const wanted = 'end' in fact ? fact.end : fact.session;
    return { ok: holds(wanted, session), found: JSON.stringify(partOf(session, wanted)) };
  }
  if ('llm_got' in fact)
    return { ok: llm.some((text) => fits(fact.llm_got, text)), found: listed(llm.slice(-6)) };
  if ('llm_not_got' in fact) {
    const having = llm.filter((text) => fits(fact.llm_not_got, text));
    return { ok: having.length === 0, found: listed(having) };
  }
  if ('recording' in fact) {
    const stored = events.some(({ type, data }) => type === 'recording' && data['status'] === 'stored');
    return { ok: stored === (fact.recording === 'stored'), found: stored ? 'stored' : 'none' };
  }
  if ('recording_silent' in fact || 'recording_audible' in fact) {
    const wanted = 'recording_silent' in fact ? fact.recording_silent : fact.recording_audible;
    const peaks = turns
      .filter((turn) => turn.role === 'caller' && fits(wanted, turn.text))
      .map((turn) => peakOf(evidence.audio, turn));
    const holds = (peak: number) => ('recording_silent' in fact ? peak <= SILENT_PEAK : peak > AUDIBLE_PEAK);
    return {
      ok: evidence.audio !== null && peaks.length > 0 && peaks.every(holds),
      found: evidence.audio ? `peaks of these turns: ${listed(peaks.map(String))}` : 'no recording',
    };
  }
  const body = evidence.fetched[fact.get];
  return { ok: holds(fact.has, body), found: JSON.stringify(body).slice(0, 500) };
}

/** Of 32,767: what rounding leaves of silence, and less than the softest voice. */
const SILENT_PEAK = 16;
const AUDIBLE_PEAK = 500;

/** The loudest sample of the caller's channel while a turn was said. */
function peakOf(
  audio: Evidence['audio'],
  { start_ms: from = 0, end_ms: to = 0 }: Evidence['turns'][number],
): number {
  if (!audio) return 0;
  const { sampleRate, channels, samples } = audio;
  let peak = 0;
  for (let at = Math.floor((from * sampleRate) / 1000); at < (to * sampleRate) / 1000; at++)
    peak = Math.max(peak, Math.abs(samples[at * channels] ?? 0));
  return peak;
}

/** Whether a text has a wording: without regard to case, or by a regular expression. */
function fits(wanted: string, text: string): boolean {
  return toPattern(wanted)?.test(text) ?? text.toLowerCase().includes(wanted.toLowerCase());
}

/**
 * Whether a value has all that is wanted: objects by their keys, lists when each wanted item is somewhere in it, texts
 * between slashes as regular expressions, everything else when it is equal.
 */
export function holds(wanted: unknown, actual: unknown): boolean {
  if (typeof wanted === 'string' && typeof actual === 'string') {
    const pattern = toPattern(wanted);
    if (pattern) return pattern.test(actual);
  }
  if (Array.isArray(wanted))
    return Array.isArray(actual) && wanted.every((one) => actual.some((other) => holds(one, other)));
  if (typeof wanted === 'object' && wanted !== null)
    return (
      typeof actual === 'object' &&
      actual !== null &&
      Object.entries(wanted).every(([key, value]) => holds(value, (actual as Record<string, unknown>)[key]))
    );
  return isDeepStrictEqual(wanted, actual);
}

function partOf(whole: Record<string, unknown>, wanted: Record<string, unknown>): object {
  return Object.fromEntries(Object.keys(wanted).map((key) => [key, whole[key]]));
}

/** The fact as a line of the table. */
function sentenceOf(fact: Fact): string {
  return Object.entries(fact)
    .filter(([, value]) => value !== undefined)
    .map(
      ([key, value]) =>
        `${key.replaceAll('_', ' ')} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    )
    .join(', ');
}
