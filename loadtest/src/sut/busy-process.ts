/**
 * A process that keeps its core busy until its parent lets go of it: the neighbour that most processes have in
 * production. It looks up now and then, to see whether it should end.
 */
const BURST_MS = 20;

function burn(): void {
  const until = performance.now() + BURST_MS;
  while (performance.now() < until);
  setImmediate(burn);
}

process.once('disconnect', () => process.exit(0));
// An interrupt at the terminal reaches the whole group: the parent decides when it is over.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.send!({ ready: {} });
burn();
