import type { SttTranscript } from '../providers/stt/stt-provider.ts';
import type { ReplyObserver } from '../speech/reply-observer.ts';

/**
 * Follows one call closely, for far ends that show a conversation as it happens. Must not throw.
 *
 * Keys name what is said (`turn:3`, `reply:2`), for `Call.forget` and for placing things behind one another.
 */
export interface CallObserver extends ReplyObserver {
  /** A voice began. @param audioMs caller audio received by then */
  onSpeechStarted?(audioMs: number): void;
  /** A voice that began ended without words. @param audioMs caller audio received when it ended */
  onSpeechForgotten?(audioMs: number): void;
  onInterim?(transcript: SttTranscript): void;
  /**
   * The caller's turn is over: committed to the conversation. Answers to `commitCallerAudio` come here too, with an
   * empty text (and no key) when nothing was understood.
   */
  onCallerTurn?(turn: { key: string | undefined; text: string; audioEndMs: number }): void;
  /** The caller said words that take no turn. */
  onBackchannel?(backchannel: { text: string; audioEndMs: number }): void;
}
