/** Plays what the agent says. */
export class Player extends EventTarget {
  #node;
  #cleared = [];
  /** The item that is heard now, or null. */
  item = null;

  /** @param {AudioContext} context */
  static async open(context) {
    await context.audioWorklet.addModule('/talk/player-worklet.js');
    const player = new Player();
    player.#node = new AudioWorkletNode(context, 'player', { numberOfInputs: 0, outputChannelCount: [1] });
    player.#node.connect(context.destination);
    player.#node.port.onmessage = ({ data }) => player.#onTold(data);
    return player;
  }

  /** @param {Int16Array} pcm 24 kHz */
  push(item, pcm) {
    this.#node.port.postMessage({ item, pcm }, [pcm.buffer]);
  }

  /** Stops at once. Resolves with the item that was being heard, and how much of it was. */
  stop() {
    return new Promise((resolve) => {
      this.#cleared.push(resolve);
      this.#node.port.postMessage({ clear: true });
    });
  }

  close() {
    this.#node.port.onmessage = null;
    this.#node.disconnect();
  }

  #onTold({ what, item, playedMs }) {
    if (what === 'cleared') {
      const heard = this.item;
      this.item = null;
      this.#cleared.shift()?.({ item: heard === null ? null : item, playedMs });
      return;
    }
    if (what === 'playing') {
      const wasDry = this.item === null;
      this.item = item;
      if (wasDry) this.dispatchEvent(new CustomEvent('resumed', { detail: { item } }));
    } else if (what === 'started') {
      this.item = item;
      this.dispatchEvent(new CustomEvent('started', { detail: { item } }));
    } else if (what === 'dry' && this.item !== null) {
      this.item = null;
      this.dispatchEvent(new CustomEvent('finished', { detail: { item } }));
    }
  }
}
