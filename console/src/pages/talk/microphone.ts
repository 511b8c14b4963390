import microphoneWorklet from './microphone-worklet.ts?url';

/** Louder than this is a voice, as far as the page's own figures are concerned. */
const VOICED = 0.02;

interface Piece {
  pcm: Int16Array<ArrayBuffer>;
  level: number;
}

/** The microphone as 24 kHz PCM16. */
export class Microphone {
  readonly #stream: MediaStream;
  readonly #source: MediaStreamAudioSourceNode;
  readonly #node: AudioWorkletNode;
  #muted = false;
  /** When something was last said, `performance.now()`. */
  lastVoicedAt = -Infinity;

  private constructor(stream: MediaStream, source: MediaStreamAudioSourceNode, node: AudioWorkletNode) {
    this.#stream = stream;
    this.#source = source;
    this.#node = node;
  }

  /**
   * @param deviceId '' for the standard one
   * @param onPiece 40 ms each, and how loud they are: 0 to 1
   * @throws DOMException as browsers do
   */
  static async open(
    context: AudioContext,
    deviceId: string,
    onPiece: (pcm: Int16Array, level: number) => void,
  ): Promise<Microphone> {
    // Absent on pages that are neither of this computer nor over https.
    const devices = navigator.mediaDevices as MediaDevices | undefined;
    if (!devices) throw new DOMException('insecure', 'SecurityError');
    const stream = await devices.getUserMedia({
      audio: {
        ...(deviceId === '' ? {} : { deviceId: { exact: deviceId } }),
        echoCancellation: true,
        noiseSuppression: true,
        autoGainControl: true,
      },
    });
    try {
      await context.audioWorklet.addModule(microphoneWorklet);
    } catch (error) {
      for (const track of stream.getTracks()) track.stop();
      throw error;
    }
    const source = context.createMediaStreamSource(stream);
    const node = new AudioWorkletNode(context, 'microphone', { numberOfOutputs: 0 });
    const microphone = new Microphone(stream, source, node);
    node.port.onmessage = ({ data }: MessageEvent<Piece>) => {
      const muted = microphone.#muted;
      if (!muted && data.level > VOICED) microphone.lastVoicedAt = performance.now();
      onPiece(muted ? new Int16Array(data.pcm.length) : data.pcm, muted ? 0 : data.level);
    };
    source.connect(node);
    return microphone;
  }

  /** Silence is sent while it is muted: the agent is to hear that nobody speaks. */
  mute(on: boolean): void {
    this.#muted = on;
    for (const track of this.#stream.getAudioTracks()) track.enabled = !on;
  }

  close(): void {
    for (const track of this.#stream.getTracks()) track.stop();
    this.#source.disconnect();
    this.#node.port.onmessage = null;
    this.#node.disconnect();
  }
}

/** What went wrong with the microphone, in words for whoever sits in front of it. */
export function explainMicrophone(error: unknown): string {
  switch (error instanceof DOMException ? error.name : '') {
    case 'NotAllowedError':
      return 'The browser does not let this page use the microphone. Allow it beside the address, then start again. You can type meanwhile.';
    case 'NotFoundError':
    case 'OverconstrainedError':
      return 'No microphone was found. Plug one in, then start again. You can type meanwhile.';
    case 'NotReadableError':
    case 'AbortError':
      return 'Another program may hold the microphone. Close it, then start again. You can type meanwhile.';
    case 'SecurityError':
      return 'Browsers give out the microphone only on pages of this computer (localhost) or over https. You can type.';
    default:
      return 'The microphone did not start. You can type.';
  }
}
