import t from 'tap';
import { runScript } from '../../test/fixtures/run-script.ts';

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  void t.test(`${signal} asks for the end, a second signal insists`, async (t) => {
    const child = runScript('shutdown.ts');
    const lines: string[] = [];
    for await (const line of child.lines) {
      lines.push(line);
      child.kill(lines.length === 1 ? signal : 'SIGTERM');
    }
    t.same(lines, ['ready', signal]);
    t.same(await child.exited, [130, null]);
  });
}
