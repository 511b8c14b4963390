/** Why the agent speaks. */
export type ReplyKind = 'greeting' | 'answer' | 'reminder' | 'say' | 'apology' | 'goodbye';

/** Tokens that the LLM read and wrote for a reply. */
export interface ReplyTokens {
  input: number;
  output: number;
}

/** Follows the replies of one call, as they happen. Must not throw. */
export interface ReplyObserver {
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
