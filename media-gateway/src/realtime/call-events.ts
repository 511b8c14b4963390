import type { CallObserver } from '../call/call-observer.ts';
import type { ReplyTokens } from '../speech/reply-observer.ts';
import type { ClientTools } from '../call/call-tools.ts';
import type { LlmTool, LlmToolCall } from '../providers/llm/llm-provider.ts';
import type { SttTranscript } from '../providers/stt/stt-provider.ts';
import type { AgentResponses } from './agent-responses.ts';
import type { CallerAudio } from './caller-audio.ts';
import type { SessionSettings } from './session-settings.ts';

/** Turns the events of a call into server events. */
export class CallEvents implements CallObserver, ClientTools {
  readonly #settings: SessionSettings;
  readonly #audio: CallerAudio;
  readonly #responses: AgentResponses;

  constructor(deps: { settings: SessionSettings; audio: CallerAudio; responses: AgentResponses }) {
    this.#settings = deps.settings;
    this.#audio = deps.audio;
    this.#responses = deps.responses;
  }

  // ---- the caller ----

  onSpeechStarted(audioMs: number): void {
    this.#audio.speechStarted(audioMs);
    // A client that learns of a voice stops playing. While the agent is being heard that is for the call to decide.
    if (!this.#responses.isPlaying) this.#audio.announceSpeech();
  }

  onSpeechForgotten(audioMs: number): void {
    this.#audio.speechForgotten(audioMs);
  }

  onInterim(transcript: SttTranscript): void {
    this.#audio.interim(transcript);
  }

  onCallerTurn(turn: { key: string | undefined; text: string; audioEndMs: number }): void {
    this.#audio.committedTurn(turn);
  }

  onBackchannel({ text, audioEndMs }: { text: string; audioEndMs: number }): void {
    this.#audio.turn({ key: undefined, text, audioEndMs });
  }

  // ---- the agent ----

  onReplyStarted(reply: { id: number; textOnly: boolean }): void {
    this.#responses.started(reply);
  }

  onReplyText(reply: { id: number; delta: string }): void {
    this.#responses.text(reply);
  }

  onReplyHeld({ id, text }: { id: number; text: string }): void {
    if (!this.#responses.isCurrent(id)) return;
    this.#audio.announceSpeech();
    this.#responses.held(id, text);
  }

  onReplyResumed({ id }: { id: number }): void {
    this.#responses.resumed(id);
  }

  onReplySent(reply: { id: number; tokens: ReplyTokens }): void {
    this.#responses.sent(reply);
  }

  onReplyEnded(reply: Parameters<AgentResponses['ended']>[0]): void {
    this.#responses.ended(reply);
  }

  // ---- tools of the client ----

  list(): readonly LlmTool[] {
    return this.#settings.tools;
  }

  begin(call: LlmToolCall): void {
    this.#responses.functionCall(call);
  }
}
