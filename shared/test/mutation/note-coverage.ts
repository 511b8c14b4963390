import { appendFileSync } from 'node:fs';

// Loaded before a test file, in all its processes and threads: notes each mutant that is reached, at once, since a
// process may be killed.

const file = process.env['MUTANT_COVERAGE'];
if (file) {
  const noted = new Set<PropertyKey>();
  const reached = new Proxy<Record<string, number>>(
    {},
    {
      set(_, id) {
        if (!noted.has(id)) appendFileSync(file, `${String(id)}\n`);
        noted.add(id);
        return true;
      },
    },
  );
  // Where Stryker's instrumented sources count.
  Object.assign(globalThis, { __stryker__: { mutantCoverage: { static: reached, perTest: {} } } });
}
