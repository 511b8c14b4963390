import type { Speaker } from '../noise/voices.ts';

/** What is heard of a far end, one part after the other. */
export type AnswerPart =
  { say: string } | { pauseMs: number } | { beepHz: number; ms: number } | { musicMs: number };

/** Who or what answers. `music` and `silence` say no word. */
export type AnswererKind = 'human' | 'voicemail' | 'screening' | 'ivr' | 'music' | 'silence';

/** One answer to a call, from the moment on at which it is answered. */
export interface AnswerScript {
  kind: AnswererKind;
  speaker: Speaker;
  parts: readonly AnswerPart[];
  /** Level of a room's noise behind it, dB to the voice; none unless given. */
  noiseDb?: number;
}

/** A text with what it holds beside words: `[700]` is a pause in ms, `{1000/400}` a tone of so many Hz and ms, `~3000` music. */
export function parseAnswer(text: string): AnswerPart[] {
  return text
    .split(/(\[\d+\]|\{\d+\/\d+\}|~\d+)/)
    .map((piece) => piece.trim())
    .filter((piece) => piece !== '')
    .map((piece): AnswerPart => {
      const pause = /^\[(\d+)\]$/.exec(piece);
      if (pause) return { pauseMs: Number(pause[1]) };
      const tone = /^\{(\d+)\/(\d+)\}$/.exec(piece);
      if (tone) return { beepHz: Number(tone[1]), ms: Number(tone[2]) };
      const music = /^~(\d+)$/.exec(piece);
      return music ? { musicMs: Number(music[1]) } : { say: piece };
    });
}

/** Answers of one kind, spoken by the speakers in turn. */
export function answersOf(
  kind: AnswererKind,
  speakers: readonly Speaker[],
  texts: readonly string[],
): AnswerScript[] {
  return texts.map((text, i) => ({
    kind,
    speaker: speakers[i % speakers.length]!,
    parts: parseAnswer(text),
    // Each third one is not in a quiet room.
    ...(kind === 'human' && i % 3 === 2 ? { noiseDb: -22 } : {}),
  }));
}
