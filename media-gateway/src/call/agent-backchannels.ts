import { amplifier } from '@parley/shared/audio/gain';
import { countUse } from '@parley/shared/contracts/call-prices';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Clock } from '@parley/shared/time/clock';
import type { CallerHearing } from '../hearing/caller-hearing.ts';
import type { Participant } from '../participants/participant.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import type { Playout } from '../speech/playout.ts';
import type { CallVoices } from '../speech/speaker.ts';
import { spokenPhrase } from '../speech/spoken-phrase.ts';
import type { CallerTurns } from '../turns/caller-turns.ts';
import { listeningPhrases } from '../turns/listening-phrases.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { Transcript } from './transcript.ts';
import type { TurnLog } from './turn-log.ts';

/** How long callers speak, since they began or since the last backchannel, before one is due. */
const SPEECH_MS = 1500;
/** A pause of this length in which the turn goes on; one of more is left to the end of the turn. */
const PAUSE_MS = 500;
const LATEST_MS = 1200;
/** A longer one would be in the way. */
const LONGEST_MS = 1500;

/** Short words of the agent while the caller has the floor, in pauses within a turn. */
export class AgentBackchannels {
  readonly #plan: SessionPlan;
  readonly #phase: PhaseOfCall;
  readonly #clock: Clock;
  readonly #call: {
    participant: Participant;
    voices: CallVoices;
    playout: Playout;
    hearing: CallerHearing;
    turns: CallerTurns;
    speech: AgentSpeech;
    transcript: Transcript;
    log: TurnLog;
  };
  readonly #mustListen: () => boolean;
  readonly #signal: AbortSignal;
  /** As they sound, by phrase, in the voice that is in use. */
  readonly #sounds = new Map<string, Uint8Array | 'none'>();
  #voicesAt = 0;
  #count = 0;
  /** What earlier pauses have left of `frequency`: with one, there is a backchannel. */
  #credit: number | undefined;
  /** How much the caller had said at the last one of the turn, ms. */
  #saidMs = 0;
  /** The pause that was decided on, by the end of the speech before it. */
  #decidedAt = -Infinity;

  constructor(deps: {
    /** The call's own: another agent may be in it. */
    plan: SessionPlan;
    phase: PhaseOfCall;
    clock: Clock;
    call: {
      participant: Participant;
      voices: CallVoices;
      playout: Playout;
      hearing: CallerHearing;
      turns: CallerTurns;
      speech: AgentSpeech;
      transcript: Transcript;
      log: TurnLog;
    };
    /** The agent listens to who has answered, and says nothing of its own accord. */
    mustListen: () => boolean;
    /** Aborts when the call is over. */
    signal: AbortSignal;
  }) {
    this.#plan = deps.plan;
    this.#phase = deps.phase;
    this.#clock = deps.clock;
    this.#call = deps.call;
    this.#mustListen = deps.mustListen;
    this.#signal = deps.signal;
  }

  /** Says one where it is due. */
  tick(now: number): void {
    const { enabled, frequency } = this.#plan.agent.config.turn_taking.backchannel;
    if (!enabled || frequency === 0 || !this.#call.participant.ambience || this.#plan.text_only) return;
    const { hearing, turns, speech, playout } = this.#call;
    if (turns.openText === '' || !turns.expected) {
      this.#saidMs = 0;
      return;
    }
    // The agent has the floor, or is about to; or neither should speak now.
    if (speech.activity !== 'idle' || this.#phase.answerTo('waiting_text') !== 'say' || this.#mustListen())
      return;
    const { lastSpeechAt, speechMs } = hearing;
    if (speechMs < this.#saidMs) this.#saidMs = 0;
    const sound = this.#nextSound();
    const pauseMs = now - lastSpeechAt;
    if (pauseMs < PAUSE_MS || pauseMs > LATEST_MS || this.#decidedAt === lastSpeechAt) return;
    this.#decidedAt = lastSpeechAt;
    if (sound === undefined || speechMs - this.#saidMs < SPEECH_MS || playout.interjection.audible) return;
    this.#credit = (this.#credit ?? 1 - frequency) + frequency;
    // A sum of fractions is hardly ever a whole number.
    if (this.#credit < 1 - 1e-6) return;
    this.#credit -= 1;
    this.#saidMs = speechMs;
    this.#count++;
    this.#say(sound, now);
  }

  #say({ phrase, audio }: { phrase: string; audio: Uint8Array }, now: number): void {
    const { playout, transcript } = this.#call;
    playout.interjection.play(audio, now, ({ bytes, startedAt }) => {
      const endedAt = playout.ledger.noteOther(bytes, startedAt);
      transcript.agentBackchannel(phrase, startedAt, endedAt);
    });
  }

  /** The one that comes next, if it can be heard by now. */
  #nextSound(): { phrase: string; audio: Uint8Array } | undefined {
    const { voices } = this.#call;
    if (this.#voicesAt !== voices.changes) {
      this.#voicesAt = voices.changes;
      this.#sounds.clear();
    }
    const { language, turn_taking: turns } = this.#plan.agent.config;
    const own = turns.backchannel.phrases;
    const phrases = own.length > 0 ? own : listeningPhrases(language.primary);
    const phrase = phrases[this.#count % phrases.length]!;
    const audio = this.#sounds.get(phrase);
    if (audio === undefined) void this.#speak(phrase);
    else if (audio === 'none') this.#count++;
    return audio === undefined || audio === 'none' ? undefined : { phrase, audio };
  }

  async #speak(phrase: string): Promise<void> {
    const { voices, playout, log } = this.#call;
    const changes = voices.changes;
    // Asked for once; one that cannot be had is left out.
    this.#sounds.set(phrase, 'none');
    countUse(log.usage, voices.current.model, { tts_characters: phrase.length });
    try {
      const audio = await spokenPhrase(phrase, {
        ...{ voice: voices.current, output: playout.format, maxMs: LONGEST_MS },
        ...{ clock: this.#clock, signal: this.#signal },
      });
      const { volume } = this.#plan.agent.config.tts;
      if (volume !== 1) amplifier(playout.format, volume)(audio);
      if (changes === voices.changes) this.#sounds.set(phrase, audio);
    } catch {
      // The call goes on without: replies meet the same failure, and tell of it.
    }
  }
}
