import type { LlmToolCall } from '../providers/llm/llm-provider.ts';
import type { SttTranscript } from '../providers/stt/stt-provider.ts';

/** Follows one call closely, for far ends that show a conversation as it happens. Must not throw. */
export interface CallObserver {
  /** A voice began. @param audioMs caller audio received by then */
  onSpeechStarted?(audioMs: number): void;
  onInterim?(transcript: SttTranscript): void;
  /** The caller's turn is over: committed to the conversation. */
  onCallerTurn?(turn: { turnIndex: number; text: string; audioEndMs: number }): void;
  /** Words that took no turn. */
  onAside?(transcript: SttTranscript): void;
  /** The agent begins to think or to speak. */
  onReplyStarted?(reply: { id: number }): void;
  /** Words of the agent as they are spoken. */
  onReplyText?(reply: { id: number; delta: string }): void;
  /** All audio of the reply was sent (not: heard). */
  onReplySent?(reply: { id: number }): void;
  /** The reply is over. `text`: what was heard. */
  onReplyEnded?(reply: {
    id: number;
    status: 'completed' | 'interrupted' | 'failed';
    text: string;
    heardMs: number;
  }): void;
  onToolCall?(call: LlmToolCall & { clientSide: boolean }): void;
}
