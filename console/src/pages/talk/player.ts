import playerWorklet from './player-worklet.ts?url';

interface Told {
  what: 'cleared' | 'playing' | 'started' | 'dry';
  item: string | null;
  playedMs: number;
}

/** Plays what the agent says, and knows how much of each item was heard. */
export class Player {
  readonly #node: AudioWorkletNode;
  readonly #on: { started: (item: string) => void; finished: () => void };
  readonly #cleared: ((heard: { item: string | null; playedMs: number }) => void)[] = [];
  /** The item that is heard now, or null. */
  item: string | null = null;

  private constructor(node: AudioWorkletNode, on: { started: (item: string) => void; finished: () => void }) {
    this.#node = node;
    this.#on = on;
    node.port.onmessage = ({ data }: MessageEvent<Told>) => this.#onTold(data);
  }

  static async open(
    context: AudioContext,
    on: { started: (item: string) => void; finished: () => void },
  ): Promise<Player> {
    await context.audioWorklet.addModule(playerWorklet);
    const node = new AudioWorkletNode(context, 'player', { numberOfInputs: 0, outputChannelCount: [1] });
    node.connect(context.destination);
    return new Player(node, on);
  }

  /** @param pcm 24 kHz */
  push(item: string, pcm: Int16Array<ArrayBuffer>): void {
    this.#node.port.postMessage({ item, pcm }, [pcm.buffer]);
  }

  /** Stops at once. Resolves with the item that was being heard, and how much of it was. */
  stop(): Promise<{ item: string | null; playedMs: number }> {
    return new Promise((resolve) => {
      this.#cleared.push(resolve);
      this.#node.port.postMessage({ clear: true });
    });
  }

  close(): void {
    this.#node.port.onmessage = null;
    this.#node.disconnect();
  }

  #onTold({ what, item, playedMs }: Told): void {
    if (what === 'cleared') {
      const heard = this.item;
      this.item = null;
      this.#cleared.shift()?.({ item: heard === null ? null : item, playedMs });
    } else if (what === 'dry') {
      if (this.item === null) return;
      this.item = null;
      this.#on.finished();
    } else {
      this.item = item;
      if (what === 'started' && item !== null) this.#on.started(item);
    }
  }
}
