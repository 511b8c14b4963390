import { registerHooks } from 'node:module';

// Loaded before every test file (.taprc). tap tells by async hooks which test an error thrown later belongs to, and
// these hooks watch every promise of the code under test: a fifth of the suite's processor time. Without them such an
// error ends the process with its stack, which fails the file just as well.

const STANDING_IN = 'export class Domain { destroy() {} }';

const hooks = registerHooks({
  resolve(specifier, context, nextResolve) {
    if (specifier !== 'async-hook-domain') return nextResolve(specifier, context);
    // One file of tap imports it: the thousands of modules after it need not be asked.
    hooks.deregister();
    return { url: `data:text/javascript,${STANDING_IN}`, format: 'module', shortCircuit: true };
  },
});
