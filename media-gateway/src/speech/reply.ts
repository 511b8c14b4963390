import { ProviderError } from '@parley/shared/errors/provider-error';
import type { Clock } from '@parley/shared/time/clock';
import type { Usage } from '@parley/shared/contracts/usage';
import { countTokens } from '../providers/llm/count-tokens.ts';
import type { LlmMessage, LlmProvider, LlmTool, LlmToolCall } from '../providers/llm/llm-provider.ts';
import type { Playout } from './playout.ts';
import { recordedPieces, recordedWords, type RecordedSpeech } from './recorded-speech.ts';
import type { ReplyTokens } from './reply-observer.ts';
import { GuardedReply, Refused, type ReplyGuard } from './reply-guard.ts';
import { ReplyFillers, type FillerPlan } from './reply-fillers.ts';
import { RepeatedStart } from './repeated-start.ts';
import { SentenceSplitter } from './sentence-splitter.ts';
import { Speaker, type CallVoices, type SpokenStyle } from './speaker.ts';
import { wordedFiller } from './worded-filler.ts';

/** What the agent did in one reply, in order. */
export type ReplyPart =
  /** `fromModel`: words of the LLM; otherwise a fixed text (a filler, a reminder) that the LLM never gets. */
  | { type: 'speech'; text: string; fromModel: boolean }
  /** Tools that the LLM called in one answer, from when they run; each result is added when it is known. */
  | { type: 'tools'; calls: readonly LlmToolCall[]; results: Map<string, string> };

/** The tools of a reply. */
export interface ReplyTools {
  list(): readonly LlmTool[];
  /** Calls that the next reply makes before it thinks, each once. */
  takeDue(): readonly LlmToolCall[];
  /**
   * Runs one call, at most once per id; speech does not stop it. Never rejects. What the LLM is told goes into
   * `results`, whether the reply still waits for it or not.
   */
  run(
    call: LlmToolCall,
    results: Map<string, string>,
    speak: (text: string) => Promise<void>,
  ): Promise<ToolResult>;
}

/** What is known of a question before the model is asked. */
export interface ReplyKnowledge {
  /**
   * Looks up what documents say of it, within a deadline. Never rejects.
   * @returns data for the model; undefined: nothing was found in time
   */
  recall(question: string, signal: AbortSignal): Promise<string | undefined>;
}

export interface ToolResult {
  content: string;
  /** The LLM is not asked again after this tool: the call ends, is transferred, or waits for the far end. */
  final?: boolean;
}

export interface ReplyTimes {
  llmRequestAt?: number;
  llmFirstTokenAt?: number;
  ttsFirstTextAt?: number;
  ttsFirstAudioAt?: number;
}

export type ReplyOutcome =
  /** All audio is with the playout; some may not have been heard yet. */
  | { status: 'spoken' }
  | { status: 'cancelled' }
  /** Nothing, or nothing more, could be said. */
  | { status: 'failed'; reason: 'llm_error' | 'tts_error' | 'internal'; error: unknown };

/** The LLMs of a reply, and how they are used. */
export interface ReplyModel {
  /** The LLM in use, then its fallbacks in order. */
  llms: readonly LlmProvider[];
  temperature: number;
  maxOutputTokens: number;
  requestTimeoutMs: number;
  cacheKey: string;
  maxToolSteps: number;
  /** Said when nothing is heard for a while. */
  filler: (Omit<FillerPlan, 'word'> & { generated: boolean }) | undefined;
  /** BCP 47. */
  language: string;
  style: () => SpokenStyle;
}

/** What all replies of a call have in common. */
export interface ReplyDeps {
  model: ReplyModel;
  voices: CallVoices;
  playout: Playout;
  tools: ReplyTools;
  clock: Clock;
  usage: Usage;
  /** A provider failed, and is tried again or replaced. */
  onTrouble(code: string, error: unknown): void;
}

/** What one reply is to be. */
export interface ReplyOrder {
  /** Fixed words instead of thinking (greeting, reminder, goodbye). */
  speech?: string;
  /** What `speech` sounds like; without it a voice speaks it. */
  recorded?: RecordedSpeech | undefined;
  /** Other calls say `speech` too: what a voice has spoken of it is heard again. */
  keep?: boolean;
  /** The messages for the LLM at the time of the request. */
  messages: () => LlmMessage[];
  /** What the caller said is answered. */
  answers?: boolean;
  /** Looks up, before the model is asked, what documents say; see `ReplyKnowledge`. */
  recall?: ((signal: AbortSignal) => Promise<string | undefined>) | undefined;
  /** Looks at it before it is heard; undefined: the reply may say what it likes. */
  guard?: ReplyGuard | undefined;
  /** Text only: no voice speaks it. */
  textOnly: boolean;
  /** False for a prepared reply: nothing is heard and no tool runs until `release`. */
  released: boolean;
  /** Text as it comes, before it is spoken. */
  onText(delta: string): void;
}

/**
 * One reply: thinks, speaks sentence by sentence, runs tools and thinks on. Aborting it stops the LLM and the voice
 * at once; tools that run go on, and their results stay in `parts`.
 *
 * A reply may be begun before the caller's turn is sure to be over: nothing of it is heard and no tool runs until
 * `release`.
 */
export class Reply {
  readonly #deps: ReplyDeps;
  readonly #order: ReplyOrder;
  readonly #abort = new AbortController();
  readonly #speaker: Speaker;
  readonly #released: Promise<void>;
  #release!: () => void;
  #isReleased: boolean;
  readonly #fillers: ReplyFillers;
  /** Undefined: the reply may say what it likes. */
  readonly #guarded: GuardedReply | undefined;
  /** The model has written something. */
  #wrote = false;
  /** What was said since the model wrote something. */
  #between: string | undefined;
  /** What documents say of the question. */
  #recalled: string | undefined;

  /** What was said and done, as the LLM will remember it. */
  readonly parts: ReplyPart[] = [];
  readonly times: ReplyTimes = {};
  readonly tokens: ReplyTokens = { input: 0, output: 0 };
  /** Never rejects. */
  readonly outcome: Promise<ReplyOutcome>;

  constructor(deps: ReplyDeps, order: ReplyOrder) {
    this.#deps = deps;
    this.#order = order;
    this.#released = new Promise((resolve) => (this.#release = resolve));
    this.#isReleased = order.released;
    if (order.released) this.#release();
    this.#guarded = order.guard && this.#guardedBy(order.guard);
    this.#fillers = new ReplyFillers({
      plan: this.#fillerPlan(),
      clock: deps.clock,
      isSilent: () => deps.playout.queuedMs === 0 && !deps.playout.held,
      say: (text) =>
        void this.#sayBetween(text).catch(() => {
          // The reply itself meets the same failure, and decides.
        }),
    });
    this.#speaker = new Speaker({
      voices: deps.voices,
      playout: deps.playout,
      output: deps.playout.format,
      style: deps.model.style,
      keep: order.speech !== undefined && (order.keep ?? false),
      signal: this.#abort.signal,
      events: {
        onFirstText: () => (this.times.ttsFirstTextAt ??= deps.clock.monotonic()),
        onFirstAudio: () => {
          this.times.ttsFirstAudioAt ??= deps.clock.monotonic();
        },
        onTrouble: (error) => deps.onTrouble('tts_trouble', error),
      },
    });
    this.outcome = this.#run(order.speech);
  }

  /** The caller's turn is over: what was thought ahead counts. */
  release(): void {
    this.#isReleased = true;
    this.#release();
    // A fixed text needs no time to think.
    if (this.#order.speech === undefined) this.#armFiller();
  }

  /**
   * Plays audio behind what was said so far. Resolves when it has gone out.
   * @param audio in the playout's format
   * @throws the reason of the reply's end, if that comes first
   */
  async play(audio: Uint8Array): Promise<void> {
    await this.#voiced(this.#speaker.flush());
    this.#abort.signal.throwIfAborted();
    this.#deps.playout.write(audio);
    // The last frame may wait for what is said next.
    await this.#deps.playout.room(this.#abort.signal, 20);
  }

  cancel(): void {
    this.#fillers.close();
    this.#abort.abort(new Error('The reply was cancelled.'));
    // Work that waits for the release goes on and finds the abort.
    this.#release();
  }

  async #run(speech: string | undefined): Promise<ReplyOutcome> {
    const { playout, usage } = this.#deps;
    try {
      if (speech === undefined) {
        try {
          await this.#think();
        } catch (error) {
          if (!(error instanceof Refused) || !this.#guarded) throw error;
          await this.#refuse(this.#guarded);
        }
      } else {
        this.#order.onText(speech);
        if (this.#order.recorded && !this.#order.textOnly)
          await this.#playRecorded(speech, this.#order.recorded);
        else await this.#say(speech, true);
      }
      await this.#voiced(this.#speaker.flush());
      // Meanwhile the playout may belong to another reply.
      this.#abort.signal.throwIfAborted();
      playout.finish();
      return { status: 'spoken' };
    } catch (error) {
      if (this.#abort.signal.aborted) return { status: 'cancelled' };
      if (error instanceof LlmFailure) return { status: 'failed', reason: 'llm_error', error: error.cause };
      if (error instanceof VoiceFailure) return { status: 'failed', reason: 'tts_error', error: error.cause };
      return { status: 'failed', reason: 'internal', error };
    } finally {
      this.#fillers.close();
      this.#speaker.count(usage);
    }
  }

  async #say(text: string, fromModel: boolean): Promise<void> {
    // What fills a silence would come behind the words that the voice is at work on.
    if (fromModel) this.#fillers.cancel();
    const last = this.parts.at(-1);
    if (last?.type === 'speech' && last.fromModel === fromModel) last.text = `${last.text} ${text}`;
    else this.parts.push({ type: 'speech', text, fromModel });
    if (this.#order.textOnly) this.#deps.playout.addText(text);
    else await this.#voiced(this.#speaker.say(text));
  }

  async #playRecorded(text: string, recorded: RecordedSpeech): Promise<void> {
    const { clock, playout } = this.#deps;
    this.parts.push({ type: 'speech', text, fromModel: true });
    playout.addText(text);
    playout.addWords(recordedWords(text, recorded), 0);
    for (const piece of recordedPieces(recorded, playout.format)) {
      await playout.room(this.#abort.signal);
      // Meanwhile the playout may belong to another reply.
      this.#abort.signal.throwIfAborted();
      this.times.ttsFirstAudioAt ??= clock.monotonic();
      playout.write(piece);
    }
  }

  /** Says words between those of the model: a filler, or the announcement of a tool. */
  #sayBetween(text: string): Promise<void> {
    this.#between = text;
    this.#order.onText(`${text} `);
    return this.#say(text, false);
  }

  /** Marks a failure of the voice, so that it is not taken for one of the model. */
  async #voiced(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      throw error instanceof ProviderError ? new VoiceFailure(error) : error;
    }
  }

  async #think(): Promise<void> {
    const { model, tools } = this.#deps;
    const due = this.#isReleased ? tools.takeDue() : [];
    if (due.length > 0) await this.#guarded?.admit();
    if (due.length > 0 && (await this.#runTools(due))) return;
    if (this.#order.recall) {
      this.#recalled = await this.#order.recall(this.#abort.signal);
      this.#abort.signal.throwIfAborted();
    }
    for (let step = 0; step <= model.maxToolSteps; step++) {
      // In the last step the model gets no tools: it must say something.
      const calls = await this.#ask(step < model.maxToolSteps ? tools.list() : []);
      if (calls.length === 0) return;
      // A tool acts on the world: not before the caller's turn is over.
      await this.#released;
      this.#abort.signal.throwIfAborted();
      await this.#guarded?.admit();
      if (await this.#runTools(calls)) return;
    }
  }

  /** One answer of the LLM, spoken as it comes. @returns the tools it calls */
  async #ask(tools: readonly LlmTool[]): Promise<LlmToolCall[]> {
    const { model, clock, usage, onTrouble } = this.#deps;
    const signal = this.#abort.signal;
    const { textOnly } = this.#order;
    const messages = withRecalled(this.#order.messages(), this.#recalled);
    this.times.llmRequestAt ??= clock.monotonic();
    this.#armFiller();
    // Each model once, the first one twice.
    const tries = [model.llms[0]!, ...model.llms];
    let failure: ProviderError | undefined;
    for (let index = 0; index < tries.length; index++) {
      const llm = tries[index]!;
      const splitter = new SentenceSplitter();
      const calls: LlmToolCall[] = [];
      let start: RepeatedStart | undefined;
      let spoke = false;
      let wroteNow = false;
      let untold = '';
      const tell = (text: string) => {
        // What follows a tool is a new stretch of speech.
        this.#order.onText(this.#wrote && !wroteNow ? ` ${text}` : text);
        this.#wrote = wroteNow = true;
        this.#between = undefined;
      };
      const say = async (text: string, last: boolean) => {
        const sentences = splitter.push(text);
        const rest = last ? splitter.flush() : undefined;
        if (rest !== undefined) sentences.push(rest);
        if (this.#guarded) {
          // Nothing is shown or heard before the verdict on it.
          for (const sentence of sentences) {
            await this.#guarded.pass(sentence, this.#saidByModel);
            tell(wroteNow ? ` ${sentence}` : sentence);
            spoke = true;
            await this.#say(sentence, true);
          }
          return;
        }
        untold += text;
        // Until something is said, the model may fail and begin anew: what it wrote is not shown before. What is only
        // read is shown as it comes.
        if (untold !== '' && (textOnly || spoke || sentences.length > 0)) {
          spoke ||= textOnly;
          tell(untold);
          untold = '';
        }
        for (const sentence of sentences) {
          spoke = true;
          await this.#say(sentence, true);
        }
      };
      try {
        const stream = llm.stream(
          {
            messages,
            tools,
            temperature: model.temperature,
            maxOutputTokens: model.maxOutputTokens,
            timeoutMs: model.requestTimeoutMs,
            cacheKey: model.cacheKey,
          },
          signal,
        );
        for await (const event of stream) {
          if (event.type === 'text') {
            this.times.llmFirstTokenAt ??= clock.monotonic();
            start ??= new RepeatedStart(this.#between);
            await say(start.push(event.text), false);
          } else if (event.type === 'tool_call') {
            this.times.llmFirstTokenAt ??= clock.monotonic();
            calls.push(event.call);
          } else if (event.type === 'usage') {
            countTokens(usage, llm, event);
            this.tokens.input += event.inputTokens;
            this.tokens.output += event.outputTokens;
          }
        }
        signal.throwIfAborted();
        await say(start?.flush() ?? '', true);
        return calls;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ProviderError)) throw error;
        onTrouble('llm_trouble', error);
        // A reply that was partly spoken ends here: another answer would begin anew.
        if (spoke) {
          if (textOnly) await say('', true);
          return [];
        }
        failure = error;
        // A credential that was refused is refused again.
        if (index === 0 && error.fault === 'auth') index++;
      }
    }
    throw new LlmFailure(failure);
  }

  /** @returns whether the reply ends with this */
  async #runTools(calls: readonly LlmToolCall[]): Promise<boolean> {
    const part: ReplyPart = { type: 'tools', calls, results: new Map() };
    this.parts.push(part);
    this.#armFiller();
    const results = await Promise.all(
      calls.map((call) => this.#deps.tools.run(call, part.results, (text) => this.#sayBetween(text))),
    );
    this.#abort.signal.throwIfAborted();
    return results.some((result) => result.final);
  }

  /** Fills silence when nothing has been heard for a while. Counted from the end of the caller's turn. */
  #armFiller(): void {
    if (this.#isReleased) this.#fillers.arm();
  }

  #fillerPlan(): FillerPlan | undefined {
    const { model, clock, usage } = this.#deps;
    if (!model.filler?.generated) return model.filler;
    const guarded = this.#guarded;
    const word = wordedFiller({
      ...{ llm: model.llms[0]!, language: model.language, cacheKey: model.cacheKey, clock, usage },
      messages: this.#order.messages,
      mayBeSaid: guarded && ((text, signal) => guarded.mayBeSaid(text, signal)),
    });
    return { ...model.filler, word };
  }

  #guardedBy(guard: ReplyGuard): GuardedReply {
    return new GuardedReply({
      guard,
      answers: this.#order.answers ?? false,
      messages: this.#order.messages(),
      signal: this.#abort.signal,
      released: this.#released,
    });
  }

  /** What the model has said so far. */
  get #saidByModel(): string {
    return this.parts
      .flatMap((part) => (part.type === 'speech' && part.fromModel ? [part.text] : []))
      .join(' ');
  }

  /** Says, in place of what must not be said, that it is not. */
  async #refuse(guarded: GuardedReply): Promise<void> {
    const { refusal } = guarded;
    this.#order.onText(this.#wrote ? ` ${refusal}` : refusal);
    await this.#say(refusal, true);
  }
}

/** Puts what documents say before the caller's last words: what stands before stays as providers have cached it. */
function withRecalled(messages: LlmMessage[], recalled: string | undefined): LlmMessage[] {
  if (recalled === undefined) return messages;
  const last = messages.findLastIndex(({ role }) => role === 'user');
  return messages.toSpliced(last === -1 ? messages.length : last, 0, { role: 'user', content: recalled });
}

class VoiceFailure extends Error {
  constructor(cause: unknown) {
    super('No TTS provider returned audio.', { cause });
  }
}

class LlmFailure extends Error {
  constructor(cause: unknown) {
    super('No LLM provider answered.', { cause });
  }
}
