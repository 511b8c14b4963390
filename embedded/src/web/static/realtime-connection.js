/** A WebSocket that speaks the OpenAI Realtime protocol, with a token of this server. */
export class RealtimeConnection extends EventTarget {
  #socket;

  /** Resolves when the session has begun. */
  static async open() {
    const minted = await fetch('/talk/sessions', { method: 'POST' });
    if (!minted.ok) throw new Error(await minted.text());
    const { token } = await minted.json();
    const connection = new RealtimeConnection();
    const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(`${scheme}//${location.host}/v1/realtime`, [
      'realtime',
      `openai-insecure-api-key.${token}`,
    ]);
    connection.#socket = socket;
    await new Promise((resolve, reject) => {
      let reason = 'The connection could not be opened.';
      socket.onmessage = ({ data }) => {
        const event = JSON.parse(data);
        if (event.type === 'error') reason = event.error.message;
        if (event.type === 'session.created') resolve();
        else connection.dispatchEvent(new CustomEvent('event', { detail: event }));
      };
      socket.onclose = ({ code }) => {
        reject(new Error(reason));
        connection.dispatchEvent(new CustomEvent('closed', { detail: { code } }));
      };
    });
    return connection;
  }

  send(event) {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(event));
  }

  /** @param {Int16Array} pcm 24 kHz */
  sendAudio(pcm) {
    this.send({ type: 'input_audio_buffer.append', audio: toBase64(new Uint8Array(pcm.buffer)) });
  }

  close() {
    this.#socket.close(1000);
  }
}

function toBase64(bytes) {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** @returns {Int16Array} */
export function fromBase64(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Int16Array(bytes.buffer);
}
