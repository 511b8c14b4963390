/** The few parts of the WebAssembly API in use; TypeScript has them only in its browser library. */
declare namespace WebAssembly {
  class Module {
    private readonly compiled: unknown;
    constructor(bytes: Uint8Array);
  }
  class Instance {
    constructor(module: Module, imports?: Record<string, Record<string, unknown>>);
    readonly exports: Readonly<Record<string, unknown>>;
  }
  class Memory {
    /** Replaced by another one whenever the memory grows. */
    readonly buffer: ArrayBuffer;
  }
  function compile(bytes: Uint8Array): Promise<Module>;
}
