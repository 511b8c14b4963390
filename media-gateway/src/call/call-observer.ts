import type { SttTranscript } from '../providers/stt/stt-provider.ts';

/**
 * Follows one call closely, for far ends that show a conversation as it happens. Must not throw.
 *
 * Keys name what is said (`turn:3`, `reply:2`), for `Call.forget` and for placing things behind one another.
 */
export interface CallObserver {
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
  /** The agent begins to think or to speak. */
  onReplyStarted?(reply: { id: number; key: string; kind: ReplyKind; textOnly: boolean }): void;
  /** Words of the agent, before they are spoken. */
  onReplyText?(reply: { id: number; delta: string }): void;
  /** The reply is held at the far end and may resume. `text`: the part of it that was heard. */
  onReplyHeld?(reply: { id: number; text: string }): void;
  /** The held reply resumes behind the part that was heard. */
  onReplyResumed?(reply: { id: number }): void;
  /** All audio of the reply was sent (not: heard). */
  onReplySent?(reply: { id: number; tokens: ReplyTokens }): void;
  /** The reply has ended. `text`: the part of it that was heard. */
  onReplyEnded?(reply: {
    id: number;
    status: 'completed' | 'interrupted' | 'failed';
    text: string;
    heardMs: number;
    /** Code word of the failure. */
    code: string | undefined;
    tokens: ReplyTokens;
  }): void;
}

export type ReplyKind = 'greeting' | 'answer' | 'reminder' | 'say' | 'apology' | 'goodbye';

/** Tokens that the LLM read and wrote for a reply. */
export interface ReplyTokens {
  input: number;
  output: number;
}
