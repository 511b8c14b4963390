/** Louder than this is a voice, as far as the page's own figures are concerned. */
const VOICED = 0.02;

/** The microphone as 24 kHz PCM16. */
export class Microphone {
  #context;
  #stream;
  #source;
  #node;
  #muted = false;
  /** When something was last said, `performance.now()`. */
  lastVoicedAt = -Infinity;

  /**
   * @param {AudioContext} context
   * @param {string} deviceId '' for the standard one
   * @param {(pcm: Int16Array, level: number) => void} onPiece
   */
  static async open(context, deviceId, onPiece) {
    if (!navigator.mediaDevices) throw new DOMException('insecure', 'SecurityError');
    const stream = await navigator.mediaDevices.getUserMedia({
      audio: {
        ...(deviceId === '' ? {} : { deviceId: { exact: deviceId } }),
        echoCancellation: true,
        noiseSuppression: true,
        autoGainControl: true,
      },
    });
    const microphone = new Microphone();
    microphone.#context = context;
    microphone.#stream = stream;
    await context.audioWorklet.addModule('/talk/microphone-worklet.js');
    microphone.#source = context.createMediaStreamSource(stream);
    microphone.#node = new AudioWorkletNode(context, 'microphone', { numberOfOutputs: 0 });
    microphone.#node.port.onmessage = ({ data }) => {
      const muted = microphone.#muted;
      if (!muted && data.level > VOICED) microphone.lastVoicedAt = performance.now();
      onPiece(muted ? new Int16Array(data.pcm.length) : data.pcm, muted ? 0 : data.level);
    };
    microphone.#source.connect(microphone.#node);
    return microphone;
  }

  /** Silence is sent while it is muted: the agent is to hear that nobody speaks. */
  set muted(on) {
    this.#muted = on;
    for (const track of this.#stream.getAudioTracks()) track.enabled = !on;
  }

  close() {
    for (const track of this.#stream.getTracks()) track.stop();
    this.#source.disconnect();
    this.#node.port.onmessage = null;
    this.#node.disconnect();
  }
}

/** Microphones by name; names are known once one was allowed. */
export async function listMicrophones() {
  const devices = await navigator.mediaDevices?.enumerateDevices?.();
  return (devices ?? []).filter((device) => device.kind === 'audioinput' && device.deviceId !== '');
}

/** What went wrong with the microphone, in words for whoever sits in front of it. */
export function explainMicrophone(error) {
  switch (error?.name) {
    case 'NotAllowedError':
      return (
        'The browser does not let this page use the microphone. Allow it in the settings beside the address, ' +
        'then end and start again. Until then you can write to the agent.'
      );
    case 'NotFoundError':
    case 'OverconstrainedError':
      return 'No microphone was found. Plug one in, then end and start again. Until then you can write to the agent.';
    case 'NotReadableError':
    case 'AbortError':
      return (
        'The microphone can’t be used just now; another program may hold it. Close that one, then end and start ' +
        'again. Until then you can write to the agent.'
      );
    case 'SecurityError':
      return (
        'Browsers give out the microphone only on pages of this computer (http://localhost) or over https. ' +
        'You can write to the agent.'
      );
    default:
      return 'The microphone did not start. You can write to the agent.';
  }
}
