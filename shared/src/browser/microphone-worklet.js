/** Makes 24 kHz PCM16 of what the microphone hears, in pieces of 40 ms, with their loudness. */
class MicrophoneProcessor extends AudioWorkletProcessor {
  #step = sampleRate / 24_000;
  #piece = new Int16Array(960);
  #filled = 0;
  #square = 0;
  /** Where the next sample begins and ends, in samples of the input. */
  #at = 0;
  #sum = 0;
  #weight = 0;

  process([input]) {
    const samples = input?.[0];
    if (!samples) return true;
    for (const sample of samples) {
      // The mean over the time of one output sample: a plain low-pass, and enough for speech.
      let left = 1;
      while (left > 0) {
        const part = Math.min(left, this.#step - this.#at);
        this.#sum += sample * part;
        this.#weight += part;
        this.#at += part;
        left -= part;
        if (this.#at >= this.#step - 1e-9) this.#push();
      }
    }
    return true;
  }

  #push() {
    const value = Math.max(-1, Math.min(1, this.#sum / this.#weight));
    this.#at = this.#sum = this.#weight = 0;
    this.#square += value * value;
    this.#piece[this.#filled++] = Math.round(value * 32_767);
    if (this.#filled < this.#piece.length) return;
    const level = Math.sqrt(this.#square / this.#filled);
    this.port.postMessage({ pcm: this.#piece, level }, [this.#piece.buffer]);
    this.#piece = new Int16Array(960);
    this.#filled = this.#square = 0;
  }
}

registerProcessor('microphone', MicrophoneProcessor);
