import { randomUUID } from 'node:crypto';
import type { CarrierName } from '@parley/shared/contracts/session-values';
import { CarrierLine, type Background } from './carrier-line.ts';
import { CallProgress, type EmulatedCall } from './emulated-call.ts';

/**
 * A call without a carrier's signalling: only its media stream, dialled at an address that was handed out before.
 * No webhook is sent, and nothing is signed.
 * @throws when the stream is refused
 */
export async function openDirectCall(options: {
  url: string;
  carrier: CarrierName;
  from: string;
  to: string;
  /** What is heard around the caller; nothing unless given. */
  background?: Background | undefined;
}): Promise<EmulatedCall> {
  const { carrier, from, to } = options;
  const callId = randomUUID();
  const progress = new CallProgress();
  const line = await CarrierLine.open({
    url: options.url,
    carrier,
    ids: { callId, streamId: randomUUID(), accountId: 'DIRECT', from, to, sequence: 0 },
    background: options.background,
  });
  progress.answer();
  progress.addLine(line);
  let hungUp = false;
  void line.closed.then(({ code }) =>
    progress.finish({ source: hungUp ? 'caller' : 'api', cause: `socket closed with ${code}` }),
  );
  return {
    carrier,
    callId,
    from,
    to,
    line,
    lineAfter: (after) => progress.lineAfter(after),
    ended: progress.ended,
    hangUp() {
      hungUp = true;
      progress.closeLine();
    },
  };
}
