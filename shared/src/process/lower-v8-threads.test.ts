import { existsSync, readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { lowerV8Threads } from './lower-v8-threads.ts';

const threads = () => new Set(readdirSync('/proc/self/task').map(Number));
const SKIP = !existsSync('/proc/self/task') && 'threads have a priority of their own on Linux alone';

void t.test("V8's threads give way, no others do", { skip: SKIP }, async (t) => {
  const own = getPriority();
  const before = threads();
  const lowered = lowerV8Threads();
  t.ok(lowered > 0, `${lowered} of ${before.size}`);
  t.equal([...before].filter((id) => getPriority(id) === Math.min(19, own + 5)).length, lowered);
  t.equal(getPriority(process.pid), own, 'the thread of the audio stays as it was');

  const worker = new Worker('setInterval(() => {}, 1000)', { eval: true });
  await new Promise((resolve) => worker.once('online', resolve));
  const added = [...threads()].filter((id) => !before.has(id));
  t.ok(added.length > 0);
  t.ok(
    added.every((id) => getPriority(id) === own),
    'nor a thread that is started later',
  );
  await worker.terminate();
});
