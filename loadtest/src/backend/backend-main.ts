import { lowerV8Threads } from '@parley/shared/process/lower-v8-threads';
import type { BackendOptions } from './backend.ts';
import type { BackendAnswer, BackendRequest } from './backend-process.ts';
import { openBackend } from './open-backend.ts';

/** The process behind `openBackendProcess`: ends when its parent lets go of it. */
lowerV8Threads();
const backend = await openBackend(JSON.parse(process.argv[2]!) as BackendOptions);
const notify = (answer: BackendAnswer) => {
  if (process.connected) process.send!(answer);
};

process.on('message', ({ id, method, args }: BackendRequest) => {
  const run = backend[method] as (...given: unknown[]) => Promise<unknown>;
  run(...args).then(
    (result) => notify({ id, result }),
    (error: unknown) => notify({ id, error: String(error) }),
  );
});
process.once('disconnect', () => {
  void backend[Symbol.asyncDispose]().finally(() => process.exit(0));
});
// An interrupt at the terminal reaches the whole group: the parent decides when it is over.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
notify({ ready: backend.addresses });
