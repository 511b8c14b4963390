import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { Clock } from '@parley/shared/time/clock';
import type { PhaseOfCall } from './call-phase.ts';
import type { Transcript } from './transcript.ts';
import type { Emit } from '../reporting/call-reporter.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import { DtmfCollector } from '../turns/dtmf-collector.ts';

/** The keys that the caller presses, collected into entries; an entry takes a turn. */
export class CallerKeys {
  #config: AgentConfig['dtmf'];
  readonly #phase: PhaseOfCall;
  readonly #speech: AgentSpeech;
  readonly #transcript: Transcript;
  readonly #emit: Emit;
  readonly #onSign: () => void;
  readonly #onAnswer: (digits: string) => void;
  readonly #collector: DtmfCollector;

  /** @param deps.onSign the caller has given a sign of life @param deps.onAnswer an entry is to be answered */
  constructor(deps: {
    config: AgentConfig['dtmf'];
    clock: Clock;
    phase: PhaseOfCall;
    speech: AgentSpeech;
    transcript: Transcript;
    emit: Emit;
    onSign: () => void;
    onAnswer: (digits: string) => void;
  }) {
    this.#config = deps.config;
    this.#phase = deps.phase;
    this.#speech = deps.speech;
    this.#transcript = deps.transcript;
    this.#emit = deps.emit;
    this.#onSign = deps.onSign;
    this.#onAnswer = deps.onAnswer;
    this.#collector = new DtmfCollector(deps.config, deps.clock, (digits) => this.#onEntry(digits));
  }

  /** From now on another agent's settings hold. */
  configure(config: AgentConfig['dtmf']): void {
    this.#config = config;
    this.#collector.configure(config);
  }

  press(digit: string): void {
    if (!this.#config.receive || this.#phase.on('key') !== 'take') return;
    this.#emit('dtmf', { direction: 'received', digit });
    this.#onSign();
    if (this.#config.interrupts) this.#speech.current?.interrupt();
    this.#collector.press(digit);
  }

  /** Drops the keys of an unfinished entry. */
  close(): void {
    this.#collector.close();
  }

  #onEntry(digits: string): void {
    const answer = this.#phase.on('key_entry');
    if (answer === 'ignore') return;
    this.#emit('dtmf', { direction: 'entry', digits });
    this.#transcript.keys(digits);
    if (answer === 'answer') this.#onAnswer(digits);
  }
}
