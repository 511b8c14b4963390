import { bytesFromPcm16 } from '@parley/shared/audio/audio-frame';
import { AudioConverter } from '@parley/shared/audio/convert';
import { dtmfTones } from '@parley/shared/audio/dtmf-tones';
import type { Participant } from '../participants/participant.ts';
import type { Emit } from '../reporting/call-reporter.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { CarrierRequests } from './carrier-requests.ts';

/** Presses keys for the agent, in the way in which the far end takes them. */
export class AgentKeys {
  readonly #participant: Participant;
  readonly #phase: PhaseOfCall;
  readonly #carrier: CarrierRequests;
  readonly #speech: AgentSpeech;
  readonly #emit: Emit;

  constructor(deps: {
    participant: Participant;
    phase: PhaseOfCall;
    carrier: CarrierRequests;
    speech: AgentSpeech;
    emit: Emit;
  }) {
    this.#participant = deps.participant;
    this.#phase = deps.phase;
    this.#carrier = deps.carrier;
    this.#speech = deps.speech;
    this.#emit = deps.emit;
  }

  /** @param digits of 0-9, A-D, * and # @returns whether they went out */
  async press(digits: string): Promise<boolean> {
    const participant = this.#participant;
    if (this.#phase.on('keys_by_agent') !== 'take' || participant.dtmfOut === 'none') return false;
    this.#emit('dtmf', { direction: 'sent', digits });
    switch (participant.dtmfOut) {
      case 'socket':
        participant.sendDtmf(digits);
        return true;
      case 'carrier_command':
        return (await this.#carrier.ask('send_dtmf', { digits })).ok;
      case 'tones':
        return this.#play(this.#tones(digits));
    }
  }

  /**
   * Presses the keys of an extension, and waits where it says so: `w` half a second, `W` a whole one.
   * @param wait resolves after so many ms
   */
  async dial(extension: string, wait: (ms: number) => Promise<void>): Promise<void> {
    for (const part of extension.match(/[wW]|[0-9*#]+/g) ?? []) {
      if (part === 'w' || part === 'W') await wait(part === 'w' ? 500 : 1000);
      else if (this.#participant.dtmfOut === 'tones') await this.#playAlone(part);
      else await this.press(part);
    }
  }

  /** Plays tones though nothing is being said. */
  async #playAlone(digits: string): Promise<void> {
    if (this.#phase.on('keys_by_agent') !== 'take') return;
    this.#emit('dtmf', { direction: 'sent', digits });
    const { sampleRate } = this.#participant.outputFormat;
    const samples = bytesFromPcm16(dtmfTones(digits, sampleRate));
    const recorded = { samples, sampleRate };
    await this.#speech.say('(keys)', 'say', { interruptible: false, recorded }).done;
  }

  /** Plays tones behind what was said so far. Whoever speaks meanwhile, such as the menu, does not stop them. */
  async #play(tones: Uint8Array): Promise<boolean> {
    const { current } = this.#speech;
    if (!current) return false;
    this.#speech.protect();
    return current.play(tones).then(
      () => true,
      () => false,
    );
  }

  #tones(digits: string): Uint8Array {
    const { outputFormat } = this.#participant;
    const pcm16 = { encoding: 'pcm16', sampleRate: outputFormat.sampleRate } as const;
    return new AudioConverter(pcm16, outputFormat).convert(
      bytesFromPcm16(dtmfTones(digits, outputFormat.sampleRate)),
    );
  }
}
