import type { CollectField, FlowNode } from '@parley/shared/contracts/flow-definition';
import type { FlowState } from '@parley/shared/contracts/flow-state';
import { builtInSentences } from '../../speech/built-in-sentences.ts';
import { countryOfLanguage, countryOfNumber } from '../../turns/dictation/dialled-number.ts';
import { yesOrNo, type YesNo } from '../../turns/yes-no.ts';
import type { FlowEffect, FlowInput } from '../flow-effects.ts';
import type { StepVariables } from '../step-variables.ts';
import {
  MAX_VALUE,
  readGiven,
  readKeys,
  readSaid,
  spokenValue,
  type Circumstances,
  type Read,
} from './read-value.ts';
import { askFor, askAgainFor, askForRestOf } from './tasks.ts';

type CollectNode = Extract<FlowNode, { type: 'collect' }>;
type Collect = NonNullable<FlowState['collect']>;

/**
 * What follows for the node. `stays`: the caller is asked, or goes on; `unread`: a model is to read what they said; `done`:
 * all is collected; `failed`: a field was asked for too often
 */
export type Collected = 'stays' | 'unread' | 'done' | 'failed';

/** The fields of a node, filled one after the other. Writes into the state and the variables of a step. */
export class Collection {
  /** How the caller is asked, if the call stays in the node. */
  readonly asks: FlowEffect[] = [];
  readonly #node: CollectNode;
  readonly #state: FlowState;
  readonly #variables: StepVariables;

  constructor(node: CollectNode, state: FlowState, variables: StepVariables) {
    this.#node = node;
    this.#state = state;
    this.#variables = variables;
  }

  /** @param kept what was collected before the caller asked for something else in between */
  begin(kept: Collect | null): Collected {
    const { fields } = this.#node;
    const fresh: Collect = {
      at: 0,
      attempts: 0,
      candidate: null,
      partial: false,
      filled: fields.map(() => false),
    };
    this.#state.phase = 'collecting';
    this.#state.collect = kept?.filled.length === fields.length ? kept : fresh;
    return this.#askNext();
  }

  /** A later leg: the caller is heard where they were asked. */
  resume(): Collected {
    this.asks.push({ type: 'task', text: this.#task() });
    return 'stays';
  }

  /** The caller has said something, or entered keys. */
  heard(input: Extract<FlowInput, { type: 'turn' | 'keys' }>): Collected {
    const said = input.type === 'turn' ? (input.text ?? '') : '';
    const { candidate, partial } = this.#collect;
    if (candidate !== null && !partial) return this.#answered(input, said, candidate);
    const before = partial && candidate !== null ? { value: candidate, isWrong: false } : undefined;
    const read = this.#read(input, said, before);
    return read ? this.#take(read) : this.#isHeard(input) ? 'unread' : this.#missed();
  }

  /**
   * A model has read what the caller said.
   * @param values by name; null: it could not be asked
   * @param said the caller's words
   */
  read(values: Readonly<Record<string, unknown>> | null, said: string): Collected {
    const field = this.#field;
    const words = values === null && field.type === 'string' ? said.trim().slice(0, MAX_VALUE) : undefined;
    const own = words ?? readGiven(field, values?.[field.name], this.#circumstances);
    for (const [i, other] of this.#node.fields.entries()) {
      // What needs the caller's yes is asked for by itself.
      if (other === field || other.confirm || this.#collect.filled[i] || values === null) continue;
      const value = readGiven(other, values[other.name], this.#circumstances);
      if (value !== undefined) this.#fill(i, value);
    }
    if (own !== undefined && own !== '' && own !== this.#collect.candidate)
      return this.#take({ value: own, whole: true });
    return this.#missed();
  }

  /** Fields that a model may read in what the caller said. */
  get wanted(): readonly CollectField[] {
    if (this.#node.input === 'dtmf') return [];
    return this.#node.fields.filter((_, i) => !this.#collect.filled[i]);
  }

  get #collect(): Collect {
    return this.#state.collect!;
  }

  get #field(): CollectField {
    return this.#node.fields[this.#collect.at]!;
  }

  get #circumstances(): Circumstances {
    const { lookup } = this.#variables;
    const language = lookup('system.language') ?? 'en';
    const now = lookup('system.now') ?? '1970-01-01';
    const timeZone = lookup('system.timezone') ?? 'UTC';
    const country = countryOfNumber(lookup('system.caller_number') ?? null) ?? countryOfLanguage(language);
    // Sweden writes dates as ISO 8601 does.
    const today = new Intl.DateTimeFormat('sv-SE', { timeZone }).format(Date.parse(now));
    return { language, country, today };
  }

  #isHeard({ type }: FlowInput): boolean {
    return this.#node.input === 'both' || (type === 'keys') === (this.#node.input === 'dtmf');
  }

  #read(
    input: Extract<FlowInput, { type: 'turn' | 'keys' }>,
    said: string,
    before: { value: string; isWrong: boolean } | undefined,
  ): Read | undefined {
    if (!this.#isHeard(input)) return undefined;
    if (input.type === 'keys') return readKeys(this.#field, input.digits, this.#circumstances);
    return readSaid(this.#field, said, this.#circumstances, before);
  }

  /** The answer to whether a value is right: yes, no, other digits, or the value once more. */
  #answered(
    input: Extract<FlowInput, { type: 'turn' | 'keys' }>,
    said: string,
    candidate: string,
  ): Collected {
    const answer = this.#yesOrNo(input, candidate);
    if (answer === 'yes') {
      this.#fill(this.#collect.at, candidate);
      return this.#askNext();
    }
    const isAnswer = input.type === 'keys' && answer === 'no';
    const read = isAnswer
      ? undefined
      : this.#read(input, said, { value: candidate, isWrong: this.#saysNo(said) });
    if (read && read.value !== candidate) return this.#missed(read);
    // Who says the same once more has said yes.
    if (read && answer === 'unclear' && !this.#saysNo(said)) {
      this.#fill(this.#collect.at, candidate);
      return this.#askNext();
    }
    if (answer === 'no') {
      this.#collect.candidate = null;
      return this.#missed();
    }
    return this.#isHeard(input) && input.type === 'turn' ? 'unread' : this.#missed();
  }

  #yesOrNo(input: Extract<FlowInput, { type: 'turn' | 'keys' }>, candidate: string): YesNo {
    if (input.type === 'keys') {
      if (this.#node.input === 'speech') return 'unclear';
      return input.digits === '1' ? 'yes' : input.digits === '2' ? 'no' : 'unclear';
    }
    const { language } = this.#circumstances;
    return yesOrNo(input.text ?? '', this.#question(candidate), language);
  }

  /** Whether words that hold something else too begin with a no. */
  #saysNo(said: string): boolean {
    const { language } = this.#circumstances;
    const [first = ''] = said.split(/[\s,.;!、。，]+/, 1);
    return yesOrNo(first, '', language) === 'no';
  }

  /** A value was read: it counts, or the caller is asked whether it is right. */
  #take({ value, whole }: Read): Collected {
    const collect = this.#collect;
    if (!whole) {
      collect.candidate = value;
      collect.partial = true;
      this.#ask(askForRestOf(this.#field, spokenValue({ ...this.#field, type: 'digits' }, value, '')));
      return 'stays';
    }
    if (this.#field.confirm) {
      collect.candidate = value.slice(0, MAX_VALUE);
      collect.partial = false;
      this.#confirm();
      return 'stays';
    }
    this.#fill(collect.at, value);
    return this.#askNext();
  }

  /** An attempt has failed. @param read what the caller has said instead of a value that was wrong */
  #missed(read?: Read): Collected {
    const collect = this.#collect;
    if (++collect.attempts >= this.#node.max_attempts) return this.#field.required ? 'failed' : this.#pass();
    if (read) return this.#take(read);
    if (collect.candidate !== null && !collect.partial) {
      this.#confirm();
      return 'stays';
    }
    collect.candidate = null;
    collect.partial = false;
    // What need not be known is not asked for twice.
    if (!this.#field.required) return this.#pass();
    this.#ask(this.#task());
    return 'stays';
  }

  #pass(): Collected {
    this.#collect.filled[this.#collect.at] = true;
    return this.#askNext();
  }

  #fill(at: number, value: string): void {
    this.#variables.collect(this.#node.fields[at]!.name, value);
    this.#collect.filled[at] = true;
  }

  #askNext(): Collected {
    const collect = this.#collect;
    const next = collect.filled.indexOf(false);
    collect.attempts = next === collect.at ? collect.attempts : 0;
    collect.candidate = null;
    collect.partial = false;
    if (next === -1) return 'done';
    collect.at = next;
    this.#ask(this.#task());
    return 'stays';
  }

  #task(): string {
    const { input } = this.#node;
    return this.#collect.attempts === 0 ? askFor(this.#field, input) : askAgainFor(this.#field, input);
  }

  #ask(task: string): void {
    this.asks.push({ type: 'task', text: task }, { type: 'reply' });
  }

  #confirm(): void {
    const text = this.#question(this.#collect.candidate!);
    this.asks.push({ type: 'say', text, interruptible: true, assetId: null, keep: false });
  }

  #question(value: string): string {
    const { language } = this.#circumstances;
    return builtInSentences(language).isThatRight.replace('{}', spokenValue(this.#field, value, language));
  }
}
