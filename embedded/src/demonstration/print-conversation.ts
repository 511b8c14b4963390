import { styleText } from 'node:util';
import type { TurnLatency } from '@parley/shared/contracts/turn';
import type { SessionEvent } from './follow-session.ts';

export type Write = (line: string) => void;

interface TurnData {
  role: 'agent' | 'caller' | 'operator';
  text: string;
  start_ms: number;
  end_ms: number;
  interrupted: boolean;
  latency?: TurnLatency;
}

const INDENT = ' '.repeat(19);

/** What an outbound call does first. */
const BEFORE_THE_ANSWER: Readonly<Record<string, string>> = {
  queued: 'queued',
  dialing: 'the carrier dials',
};

/** `0:07.4`, from the answer. */
export function clockTime(ms: number): string {
  const tenths = Math.max(0, Math.round(ms / 100));
  return `${Math.floor(tenths / 600)}:${String(Math.floor((tenths % 600) / 10)).padStart(2, '0')}.${tenths % 10}`;
}

/** Reasons to stop that are sounds, not words. */
const VOICE_RULES = new Set<unknown>(['sound', 'voice', 'near_voice', 'lasting_voice', 'stt_speech']);

/**
 * Prints a conversation as a person would want to read it, line by line as it happens, each with the time at which it
 * was over; events that only matter to programs are left out.
 */
export class ConversationPrinter {
  readonly #write: Write;
  /** Unix time of the answer; undefined before it. */
  #answeredAt: number | undefined;
  /** Of the last line. Clocks of several processes may differ by a little, lines never run backwards. */
  #ms = 0;

  constructor(write: Write) {
    this.#write = write;
  }

  /** A remark that belongs to no moment of the call. */
  note(text: string): void {
    this.#write(`${INDENT}${styleText('gray', text)}`);
  }

  event(event: SessionEvent): void {
    const { data } = event;
    const at = Date.parse(event.at);
    if (event.type === 'call_started') this.#answeredAt ??= at - event.offset_ms;
    if (this.#answeredAt !== undefined) this.#ms = Math.max(this.#ms, at - this.#answeredAt);
    const time = styleText('gray', clockTime(this.#ms).padStart(8));
    const note = (text: string) => this.#write(`${time}           ${styleText('gray', text)}`);
    const warn = (text: string) => this.#write(`${time}           ${styleText('yellow', text)}`);
    switch (event.type) {
      case 'call_started':
        note(`answered; audio ${String(data['encoding'])} ${Number(data['sample_rate']) / 1000} kHz`);
        break;
      case 'state':
        if (BEFORE_THE_ANSWER[String(data['status'])]) note(BEFORE_THE_ANSWER[String(data['status'])]!);
        else if (this.#answeredAt === undefined && typeof data['failure_reason'] === 'string')
          warn(`not answered: ${data['failure_reason']}`);
        break;
      case 'turn': {
        const turn = data as unknown as TurnData;
        const who = turn.role === 'caller' ? styleText('cyan', 'caller   ') : styleText('green', 'agent    ');
        this.#write(`${time}  ${who}${turn.text}${turn.interrupted ? styleText('yellow', ' —') : ''}`);
        const { latency } = turn;
        if (latency && latency.e2e !== null)
          this.note(
            `begun at ${clockTime(turn.start_ms)}, ${latency.e2e} ms after the caller stopped${partsOf(latency, latency.e2e)}`,
          );
        break;
      }
      case 'turn_decision':
        if (data['action'] === 'stop')
          note(
            VOICE_RULES.has(data['rule'])
              ? 'a voice: the agent stops at once and listens'
              : 'the agent stops and listens',
          );
        else if (data['action'] === 'resume')
          note(
            data['rule'] === 'backchannel'
              ? 'only a backchannel: the agent goes on where it stopped'
              : 'it was nothing: the agent goes on',
          );
        break;
      case 'interruption':
        note(`interrupted by the caller after ${(Number(data['heard_ms']) / 1000).toFixed(1)} s of speech`);
        break;
      case 'tool_started':
        note(`tool ${String(data['name'])} ${String(data['arguments'])}`);
        break;
      case 'tool_finished':
        note(
          `tool ${String(data['name'])} ${data['ok'] === true ? 'answered' : `failed (${String(data['code'])})`} after ${String(data['duration_ms'])} ms`,
        );
        break;
      case 'dtmf':
        note(`keys ${String(data['direction'])}: ${String(data['digit'] ?? data['digits'])}`);
        break;
      case 'transfer':
        note(
          `transfer to ${String(data['destination_id'])} ${String(data['phase'])}${data['code'] === undefined ? '' : ` (${String(data['code'])})`}`,
        );
        break;
      case 'warning':
      case 'error':
        warn(
          `${event.type}: ${String(data['code'])}${data['fault'] === undefined ? '' : ` (${String(data['fault'])})`}`,
        );
        break;
      case 'stalled':
        warn(`stalled: ${String(data['due'])} (${String(data['recovery'])})`);
        break;
      case 'call_ended':
        note(
          `ended by the ${String(data['ended_by'])}: ${String(data['hangup_reason'] ?? data['failure_reason'])}`,
        );
        break;
    }
  }
}

/** What a latency is made of; the parts add up to the whole. */
function partsOf(latency: TurnLatency, whole: number): string {
  const { stt_final, llm_first_token, tts_first_audio, thought_ahead } = latency;
  const parts: [name: string, ms: number | null][] = [
    ['turn end', stt_final],
    ['LLM', llm_first_token],
    ['voice', tts_first_audio],
    // Of the model's and the voice's time, what passed while the caller's turn was not over yet.
    ['thought ahead', thought_ahead === null ? null : -thought_ahead],
  ];
  const known = parts.reduce((sum, [, ms]) => sum + (ms ?? 0), 0);
  // Tools, waits, the rest of a first sentence; less than nothing where a filler was heard before the model's answer.
  parts.push(['other', whole === known ? null : whole - known]);
  return parts.map(([name, ms]) => (ms === null ? '' : ` · ${name} ${ms < 0 ? `−${-ms}` : ms}`)).join('');
}
