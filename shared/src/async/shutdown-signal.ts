/**
 * One Ctrl-C may arrive several times within milliseconds: from the terminal, and forwarded by npm.
 */
const SAME_SIGNAL_MS = 300;

/**
 * Resolves with the name of the first SIGTERM or SIGINT. Another one later exits at once with 130: the operator has
 * decided not to wait.
 */
export function shutdownSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let askedAt: number | undefined;
    const onSignal = (signal: NodeJS.Signals) => {
      const now = performance.now();
      if (askedAt !== undefined && now - askedAt > SAME_SIGNAL_MS) process.exit(130);
      askedAt ??= now;
      resolve(signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}
