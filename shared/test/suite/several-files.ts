import { rmSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import t, { type Test } from 'tap';

// Runs the test files that TEST_FILES names, one after the other in this process (every-file.ts says why). Each is a
// test of its own: what it imports as `t` is that test, so its teardowns, its time-out and its failures are its own.

const ROOT = new URL('../../../', import.meta.url);
const FILE_TIMEOUT_MS = 300_000;
/** For a file that never lets go of the thread: who started this process takes its time-out over from it. */
const ALL_TIMEOUT_MS = 4 * FILE_TIMEOUT_MS;
/** Holds the name of the file that is run: it is left behind by the one in which the process ends. */
const running = process.env['TEST_RUNNING'];
/** How the module that stands in for tap finds the test of the file that imports it. */
const REGISTRY = 'parley.tests-of-files';

const tests = new Map<string, Test>();
Object.assign(globalThis, { [Symbol.for(REGISTRY)]: tests });

registerHooks({
  resolve(specifier, context, nextResolve) {
    const file = context.parentURL;
    if (specifier !== 'tap' || file === undefined || !tests.has(file)) return nextResolve(specifier, context);
    const source = `export default globalThis[Symbol.for('${REGISTRY}')].get(${JSON.stringify(file)});`;
    return {
      url: `data:text/javascript,${encodeURIComponent(source)}`,
      format: 'module',
      shortCircuit: true,
    };
  },
});

const files = JSON.parse(process.env['TEST_FILES'] ?? '[]') as string[];
const environment = { ...process.env };

t.setTimeout(ALL_TIMEOUT_MS);
t.plan(files.length);
for (const file of files) {
  const { href } = new URL(file, ROOT);
  if (running) writeFileSync(running, file);
  await t.test(file, { timeout: FILE_TIMEOUT_MS }, async (t) => {
    tests.set(href, t);
    await import(href);
  });
  // A library may set something for itself; the next file begins as this one did.
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
}
if (running) rmSync(running);
