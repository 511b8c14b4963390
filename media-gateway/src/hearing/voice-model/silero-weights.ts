/**
 * The numbers of Silero VAD v6, its half for 8 kHz, in the order of `silero-v6-8khz.bin`: 32-bit floats, little-endian,
 * one tensor after the other, each with its last dimension fastest. `extract-weights.ts` writes the file.
 */
export const SILERO_TENSORS = {
  /** A short-time Fourier transform of 128 samples: 65 real rows, 65 imaginary ones. */
  'stft.forward_basis_buffer': [130, 1, 128],
  /** Convolutions: outputs, inputs, taps. */
  'encoder.0.reparam_conv.weight': [128, 65, 3],
  'encoder.0.reparam_conv.bias': [128],
  'encoder.1.reparam_conv.weight': [64, 128, 3],
  'encoder.1.reparam_conv.bias': [64],
  'encoder.2.reparam_conv.weight': [64, 64, 3],
  'encoder.2.reparam_conv.bias': [64],
  'encoder.3.reparam_conv.weight': [128, 64, 3],
  'encoder.3.reparam_conv.bias': [128],
  /** The LSTM's gates, 128 rows each: input, forget, cell, output. */
  'decoder.rnn.weight_ih': [512, 128],
  'decoder.rnn.weight_hh': [512, 128],
  'decoder.rnn.bias_ih': [512],
  'decoder.rnn.bias_hh': [512],
  'decoder.decoder.2.weight': [1, 128, 1],
  'decoder.decoder.2.bias': [1],
} as const satisfies Record<string, readonly number[]>;

export type SileroTensor = keyof typeof SILERO_TENSORS;

export const sizeOf = (shape: readonly number[]): number =>
  shape.reduce((product, size) => product * size, 1);

/**
 * Reads the file of weights.
 * @throws RangeError when it has another size
 */
export function readWeights(file: Uint8Array): Record<SileroTensor, Float32Array> {
  const count = Object.values(SILERO_TENSORS).reduce((sum, shape) => sum + sizeOf(shape), 0);
  if (file.length !== count * 4)
    throw new RangeError(`The weights must have ${count * 4} bytes, not ${file.length}.`);
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  let at = 0;
  const take = (shape: readonly number[]): Float32Array => {
    const tensor = new Float32Array(sizeOf(shape));
    for (let i = 0; i < tensor.length; i++, at += 4) tensor[i] = view.getFloat32(at, true);
    return tensor;
  };
  const names = Object.keys(SILERO_TENSORS) as SileroTensor[];
  return Object.fromEntries(names.map((name) => [name, take(SILERO_TENSORS[name])])) as Record<
    SileroTensor,
    Float32Array
  >;
}
