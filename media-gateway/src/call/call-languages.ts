import { isDeepStrictEqual } from 'node:util';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import { languagesOf } from '../languages/plan-languages.ts';
import type { DetectLanguage } from '../languages/text-language.ts';
import type { Emit } from '../reporting/call-reporter.ts';
import { builtInSentences } from '../speech/built-in-sentences.ts';

/** So many words of the caller show a language; of fewer, two turns must agree. */
const TELLING_WORDS = 3;
/** With `first_turn`: after so many turns without a telling one the language stays. */
const FIRST_TURNS = 3;

/** The parts of a plan that a language changes. */
type LanguagePart = Pick<SessionPlan, 'agent' | 'stt' | 'tts'>;

/** Why a call changes its language. */
export type LanguageCause = 'variable' | 'detection' | 'tool';

/**
 * The language of one call: the STT, the voice, the words of the system and what the model is told change together,
 * between turns.
 */
export class CallLanguages {
  readonly #plan: SessionPlan;
  readonly #variables: Readonly<Record<string, string>>;
  readonly #detect: DetectLanguage;
  readonly #emit: Emit;
  readonly #onChanged: (change: { sameEars: boolean }) => void;
  /** The plan as it is in its own language. */
  #base: LanguagePart;
  /** The language of the turn before, where that was not telling. */
  #before: string | undefined;
  #turns = 0;

  constructor(deps: {
    /** The plan of the call, not a copy: its parts are those of the language. */
    plan: SessionPlan;
    variables: Readonly<Record<string, string>>;
    detect: DetectLanguage;
    emit: Emit;
    /** The plan has the parts of another language. @param change `sameEars`: the STT listens in the same way */
    onChanged: (change: { sameEars: boolean }) => void;
  }) {
    this.#plan = deps.plan;
    this.#variables = deps.variables;
    this.#detect = deps.detect;
    this.#emit = deps.emit;
    this.#onChanged = deps.onChanged;
    this.#base = partOf(deps.plan);
  }

  /** BCP 47 tag of the language that is spoken. */
  get current(): string {
    return this.#plan.agent.config.language.primary;
  }

  /**
   * Takes the language that the variable `language` names, if the agent has it: before anything else reads the plan.
   * @returns whether that is another one
   */
  begin(): boolean {
    const wanted = this.#variables['language'];
    const tag = wanted === undefined ? undefined : this.#tagOf(wanted);
    if (tag === undefined || tag === this.current) return false;
    this.#apply(tag);
    return true;
  }

  /** Tells of the language that the call has begun in, where that is another one than the agent's first. */
  tellBegun(): void {
    const from = this.#base.agent.config.language.primary;
    if (from !== this.current)
      this.#emit('language', { language: this.current, previous_language: from, changed_by: 'variable' });
  }

  /** Whether the caller's language is looked for. */
  get detects(): boolean {
    return this.#plan.agent.config.language.detection !== 'off' && this.#tags.length > 1;
  }

  get #tags(): string[] {
    return languagesOf(this.#plan);
  }

  /**
   * Another agent is in the plan: it goes on in the language that is spoken, if it has that.
   * @param before that language
   * @returns whether that is another one than its first
   */
  agentChanged(before: string): boolean {
    this.#base = partOf(this.#plan);
    this.#before = undefined;
    this.#turns = 0;
    const tag = this.#tagOf(before);
    if (tag === undefined || tag === this.current) return false;
    this.#apply(tag);
    return true;
  }

  /** @returns false for a language that the agent does not have */
  change(wanted: string, by: LanguageCause): boolean {
    const tag = this.#tagOf(wanted);
    if (tag === undefined) return false;
    const from = this.current;
    if (tag === from) return true;
    const now = partOf(this.#plan);
    this.#apply(tag);
    this.#before = undefined;
    this.#emit('language', { language: tag, previous_language: from, changed_by: by });
    this.#onChanged({ sameEars: listensAlike(now, this.#plan) });
    return true;
  }

  /**
   * The caller has said something: where their language is looked for, the call changes to it.
   * @param language as the STT tells it
   * @returns resolves when that is done, within a moment; undefined: it is
   */
  heard(text: string, language: string | undefined): Promise<void> | undefined {
    const { detection } = this.#plan.agent.config.language;
    if (!this.detects) return undefined;
    const words = text.split(/\s+/).filter((word) => /\p{L}/u.test(word));
    // Keys, digits and the like are of no language.
    if (words.length === 0 || (detection === 'first_turn' && this.#turns >= FIRST_TURNS)) return undefined;
    this.#turns++;
    // Languages that are written without spaces have longer words.
    const telling =
      words.length >= TELLING_WORDS || /[\p{Script=Han}\p{Script=Kana}\p{Script=Hira}]{4}/u.test(text);
    if (language !== undefined) {
      this.#take(language, telling);
      return undefined;
    }
    const turn = this.#turns;
    return this.#detect(text, this.#tags).then((found) => {
      if (found !== undefined && turn === this.#turns) this.#take(found, telling);
    });
  }

  #take(language: string, telling: boolean): void {
    const tag = this.#tagOf(language);
    const agreed = telling || this.#before === language;
    this.#before = language;
    if (!agreed) return;
    if (this.#plan.agent.config.language.detection === 'first_turn') this.#turns = FIRST_TURNS;
    if (tag !== undefined) this.change(tag, 'detection');
  }

  /** The agent's tag for a language: the same one, else one of the same language. The one that is spoken comes first. */
  #tagOf(wanted: string): string | undefined {
    const tags = [this.current, ...this.#tags];
    const same = (tag: string) => tag.toLowerCase() === wanted.trim().toLowerCase();
    const base = (tag: string) => tag.trim().split(/[-_]/, 1)[0]!.toLowerCase();
    return tags.find(same) ?? tags.find((tag) => base(tag) === base(wanted));
  }

  #apply(tag: string): void {
    const base = this.#base;
    const other = tag === base.agent.config.language.primary ? undefined : this.#plan.languages[tag];
    const part = other
      ? { agent: agentIn(base.agent, tag, other.greeting), stt: other.stt, tts: other.tts }
      : base;
    Object.assign(this.#plan, part);
  }
}

function partOf({ agent, stt, tts }: SessionPlan): LanguagePart {
  return { agent, stt, tts };
}

/** Whether the next part of a plan listens with the same STT in the same way. */
export function listensAlike(
  now: Pick<SessionPlan, 'stt' | 'agent'>,
  next: Pick<SessionPlan, 'stt' | 'agent'>,
): boolean {
  const ears = ({ stt, agent }: Pick<SessionPlan, 'stt' | 'agent'>) => [
    stt.map(({ id, model, language, options }) => ({ id, model, language, options })),
    { language: agent.config.language.primary, ...agent.config.stt },
  ];
  return isDeepStrictEqual(ears(now), ears(next));
}

/**
 * The agent in another of its languages. Texts of its owner are in the first one: where the system says them, its own
 * sentences take their place, or the model's.
 */
export function agentIn(
  agent: SessionPlan['agent'],
  tag: string,
  greeting: string | null,
): SessionPlan['agent'] {
  const { config } = agent;
  const sentences = builtInSentences(tag);
  const ownGoodbye = (text: string) => (text === '' ? '' : sentences.goodbye);
  const unsaid = greeting === null && config.greeting.mode === 'agent_first' && agent.greeting !== '';
  const changed: AgentConfig = {
    ...config,
    language: { ...config.language, primary: tag, additional: [config.language.primary] },
    greeting: {
      ...config.greeting,
      audio_asset_id: null,
      ...(unsaid ? { mode: 'agent_first_generated' as const } : {}),
    },
    filler: { ...config.filler, messages: null },
    silence: {
      ...config.silence,
      reminder_messages: [],
      end_message: ownGoodbye(config.silence.end_message),
    },
    end_call: { ...config.end_call, message: ownGoodbye(config.end_call.message) },
    transfer: {
      destinations: config.transfer.destinations.map((destination) => ({
        ...destination,
        announce_to_caller: '',
        failure_message: '',
      })),
    },
  };
  return { ...agent, greeting: greeting ?? '', config: changed };
}
