import t from 'tap';
import { runScript } from '../../test/fixtures/run-script.ts';

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  void t.test(`${signal} asks for the end, a second signal insists`, async (t) => {
    const child = runScript('shutdown.ts');
    const lines: string[] = [];
    let insisting: NodeJS.Timeout | undefined;
    for await (const line of child.lines) {
      lines.push(line);
      // As npm does it: the same key press twice. Then, until it is gone, somebody who insists.
      if (lines.length === 1) {
        child.kill(signal);
        setTimeout(() => child.kill(signal), 20);
      } else insisting = setInterval(() => child.kill('SIGTERM'), 100);
    }
    clearInterval(insisting);
    t.same(lines, ['ready', signal]);
    t.same(await child.exited, [130, null]);
  });
}
