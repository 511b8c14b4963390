/** The package has no types of its own. */
declare module '@echogarden/rnnoise-wasm' {
  /** The functions of RNNoise, compiled to WebAssembly: https://github.com/echogarden-project/rnnoise-wasm */
  export interface RnnoiseModule {
    _rnnoise_create(model: 0): number;
    _rnnoise_destroy(state: number): void;
    /** @returns the probability of a voice */
    _rnnoise_process_frame(state: number, output: number, input: number): number;
    _malloc(bytes: number): number;
    _free(at: number): void;
    /** Another object whenever the memory has grown. */
    readonly HEAPF32: Float32Array;
  }
  export default function create(): Promise<RnnoiseModule>;
}
