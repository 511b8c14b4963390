import type { TurnRecord } from './turn-model.ts';

type Said = Pick<TurnRecord, 'role' | 'text' | 'start_ms' | 'end_ms'>;

/** One line a turn: `[00:12] caller: Hello.` */
export function toText(turns: readonly Said[]): string {
  return turns
    .map(({ role, text, start_ms }) => `[${clock(start_ms).slice(0, -4)}] ${role}: ${oneLine(text)}\n`)
    .join('');
}

/** @see W3C WebVTT: cues with voice spans */
export function toWebVtt(turns: readonly Said[]): string {
  const cues = turns.map(({ role, text, start_ms, end_ms }) => {
    // A cue must end after it starts.
    const end = Math.max(end_ms, start_ms + 1);
    return `${clock(start_ms)} --> ${clock(end)}\n<v ${role}>${escape(oneLine(text))}\n\n`;
  });
  return `WEBVTT\n\n${cues.join('')}`;
}

/** `hh:mm:ss.mmm` */
function clock(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  const part = (value: number, digits: number) => String(value).padStart(digits, '0');
  const [hours, minutes, seconds] = [whole / 3_600_000, (whole / 60_000) % 60, (whole / 1000) % 60].map(
    Math.floor,
  );
  return `${part(hours!, 2)}:${part(minutes!, 2)}:${part(seconds!, 2)}.${part(whole % 1000, 3)}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
