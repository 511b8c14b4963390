/** How often it tells where it is, in blocks of 128 samples: about 50 ms. */
const NOTIFY_EVERY = 19;

/** Plays 24 kHz PCM16, piece behind piece, and knows how much of each item was heard. */
class PlayerProcessor extends AudioWorkletProcessor {
  #step = 24_000 / sampleRate;
  /** @type {{ item: string, pcm: Int16Array }[]} */
  #queue = [];
  #at = 0;
  #item = null;
  #playedSamples = 0;
  #blocks = 0;

  constructor() {
    super();
    this.port.onmessage = ({ data }) => {
      if (data.clear) {
        this.#queue = [];
        this.#at = 0;
        this.#notify('cleared');
        this.#item = null;
      } else this.#queue.push(data);
    };
  }

  process(_inputs, [output]) {
    const channel = output[0];
    for (let i = 0; i < channel.length; i++) {
      const piece = this.#queue[0];
      if (!piece) {
        if (this.#item !== null && i === 0 && this.#blocks % NOTIFY_EVERY === 0) this.#notify('dry');
        break;
      }
      if (piece.item !== this.#item) {
        this.#item = piece.item;
        this.#playedSamples = 0;
        this.#notify('started');
      }
      const whole = Math.floor(this.#at);
      const here = piece.pcm[whole];
      const next = piece.pcm[whole + 1] ?? here;
      channel[i] = (here + (next - here) * (this.#at - whole)) / 32_768;
      this.#at += this.#step;
      this.#playedSamples += this.#step;
      if (this.#at >= piece.pcm.length) {
        this.#at -= piece.pcm.length;
        this.#queue.shift();
        if (this.#queue.length === 0) this.#at = 0;
      }
    }
    if (++this.#blocks % NOTIFY_EVERY === 0 && this.#queue.length > 0) this.#notify('playing');
    return true;
  }

  #notify(what) {
    this.port.postMessage({ what, item: this.#item, playedMs: this.#playedSamples / 24 });
  }
}

registerProcessor('player', PlayerProcessor);
