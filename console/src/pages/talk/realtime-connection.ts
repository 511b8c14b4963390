/** An event of the realtime protocol, with the fields of those that are looked at. */
export interface ServerEvent {
  type: string;
  event_id?: string;
  item_id?: string;
  delta?: string;
  transcript?: string;
  text?: string;
  /** A key, of `input_audio_buffer.dtmf_event_received`. */
  event?: string;
  item?: {
    id: string;
    role?: string;
    status?: string;
    content?: { type: string; text?: string | null; transcript?: string | null }[];
  };
  response?: { status: string };
  error?: { code?: string | null; message: string };
}

/** A WebSocket that speaks the OpenAI Realtime protocol, with a participant token. */
export class RealtimeConnection {
  readonly #socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  /**
   * Resolves when the session has begun.
   * @throws Error with a sentence for people when it cannot, or when `signal` ends it
   */
  static async open(
    { url, token }: { url: string; token: string },
    on: { event: (event: ServerEvent) => void; closed: (code: number) => void },
    signal: AbortSignal,
  ): Promise<RealtimeConnection> {
    const socket = new WebSocket(url, ['realtime', `openai-insecure-api-key.${token}`]);
    const giveUp = () => socket.close(1000);
    signal.addEventListener('abort', giveUp, { once: true });
    await new Promise<void>((resolve, reject) => {
      let reason = 'The connection could not be opened.';
      socket.onmessage = ({ data }: MessageEvent<string>) => {
        const event = JSON.parse(data) as ServerEvent;
        if (event.type === 'error' && event.error) reason = event.error.message;
        if (event.type === 'session.created') resolve();
        else on.event(event);
      };
      socket.onclose = ({ code }) => {
        signal.removeEventListener('abort', giveUp);
        reject(new Error(reason));
        on.closed(code);
      };
    });
    return new RealtimeConnection(socket);
  }

  send(event: { type: string; [field: string]: unknown }): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(event));
  }

  /** @param pcm 24 kHz */
  sendAudio(pcm: Int16Array): void {
    this.send({
      type: 'input_audio_buffer.append',
      audio: toBase64(new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength)),
    });
  }

  close(): void {
    this.#socket.close(1000);
  }
}

function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Samples of 16 bits. */
export function fromBase64(text: string): Int16Array<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Int16Array(bytes.buffer, 0, bytes.length >> 1);
}
