import { styleText } from 'node:util';
import type { SessionEvent } from './follow-session.ts';

export type Write = (line: string) => void;

interface TurnData {
  role: 'agent' | 'caller' | 'operator';
  text: string;
  start_ms: number;
  end_ms: number;
  interrupted: boolean;
  latency?: {
    e2e: number | null;
    stt_final: number | null;
    llm_first_token: number | null;
    tts_first_audio: number | null;
    thought_ahead: number | null;
  };
}

/** `0:07.4`, from the answer. */
export function clockTime(ms: number): string {
  const tenths = Math.max(0, Math.round(ms / 100));
  return `${Math.floor(tenths / 600)}:${String(Math.floor((tenths % 600) / 10)).padStart(2, '0')}.${tenths % 10}`;
}

/** Prints a remark that belongs to no moment of the call. */
export function printNote(text: string, write: Write): void {
  write(`${' '.repeat(19)}${styleText('gray', text)}`);
}

/** Reasons to stop that are sounds, not words. */
const VOICE_RULES = new Set<unknown>(['sound', 'voice', 'near_voice', 'lasting_voice', 'stt_speech']);

/**
 * Prints one event of a conversation as a person would want to read it; events that only matter to programs are left
 * out.
 */
export function printEvent(event: SessionEvent, write: Write): void {
  const { data } = event;
  const at = styleText('gray', clockTime(event.offset_ms).padStart(8));
  const note = (text: string) => write(`${at}           ${styleText('gray', text)}`);
  switch (event.type) {
    case 'call_started':
      note(`answered; audio ${String(data['encoding'])} ${Number(data['sample_rate']) / 1000} kHz`);
      break;
    case 'turn': {
      const turn = data as unknown as TurnData;
      const time = styleText('gray', clockTime(turn.start_ms).padStart(8));
      const who = turn.role === 'caller' ? styleText('cyan', 'caller   ') : styleText('green', 'agent    ');
      write(`${time}  ${who}${turn.text}${turn.interrupted ? styleText('yellow', ' —') : ''}`);
      const { latency } = turn;
      if (latency && latency.e2e !== null) {
        const part = (name: string, ms: number | null) => (ms === null ? '' : ` · ${name} ${ms}`);
        const known = [latency.stt_final, latency.llm_first_token, latency.tts_first_audio];
        // Tools, waits and what overlaps: the parts add up to the whole.
        const rest = latency.e2e - known.reduce<number>((sum, ms) => sum + (ms ?? 0), 0);
        write(
          `${' '.repeat(19)}${styleText('gray', `answered ${latency.e2e} ms after the caller stopped${part('turn end', latency.stt_final)}${part('LLM', latency.llm_first_token)}${part('voice', latency.tts_first_audio)}${part('thought ahead', latency.thought_ahead)}${part('other', rest > 0 ? rest : null)}`)}`,
        );
      }
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
      write(
        `${at}           ${styleText('yellow', `${event.type}: ${String(data['code'])}${data['fault'] === undefined ? '' : ` (${String(data['fault'])})`}`)}`,
      );
      break;
    case 'stalled':
      write(
        `${at}           ${styleText('yellow', `stalled: ${String(data['due'])} (${String(data['recovery'])})`)}`,
      );
      break;
    case 'call_ended':
      note(
        `ended by the ${String(data['ended_by'])}: ${String(data['hangup_reason'] ?? data['failure_reason'])}`,
      );
      break;
  }
}
