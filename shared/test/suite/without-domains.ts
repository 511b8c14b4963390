import { registerHooks } from 'node:module';

// Loaded before every test file (run.ts). tap tells by async hooks which test an error thrown later belongs to, and
// these hooks watch every promise of the code under test: a fifth of the suite's processor time. Without them such an
// error ends the process with its stack, which fails the file just as well.

const STANDING_IN = 'export class Domain { destroy() {} }';

registerHooks({
  resolve: (specifier, context, nextResolve) =>
    // Several files of tap import it.
    specifier === 'async-hook-domain'
      ? { url: `data:text/javascript,${STANDING_IN}`, format: 'module', shortCircuit: true }
      : nextResolve(specifier, context),
});
