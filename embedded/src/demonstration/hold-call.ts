import type { MachineScript } from '@parley/emulators/answers/machines';
import { playMachine } from '@parley/emulators/answers/play-machine';
import { runCaller, type CallerStep } from '@parley/emulators/callers/caller-script';
import type { CarrierLine } from '@parley/emulators/callers/carrier-line';
import {
  CallNotConnectedError,
  type ConnectingCall,
  type EmulatedCall,
  type EmulatedCallEnd,
} from '@parley/emulators/callers/emulated-call';
import type { CallOutcome } from './call-order.ts';

/** After the last step the agent may still speak; then the person hangs up. */
const FINAL_WAIT_MS = 60_000;
/** The agent has had its last word after this long a silence. */
const LAST_WORD_MS = 2500;
/** A person who hears nothing at all any more hangs up. */
const DEAD_LINE_MS = 60_000;

/** Does the steps on a call whose stream stands, and waits for its end. */
export async function holdCall(call: EmulatedCall, steps: readonly CallerStep[]): Promise<CallOutcome> {
  let line: CarrierLine | undefined = call.line;
  let done = 0;
  while (line) {
    done += await runCaller(line, steps.slice(done));
    if (done === steps.length) await sayGoodbye(call, line);
    const dead = setTimeout(() => call.hangUp(), DEAD_LINE_MS);
    // The call may come back from a transfer, with a stream of its own.
    line = await call.lineAfter(line).finally(() => clearTimeout(dead));
  }
  return outcomeOf(call, await call.ended);
}

/**
 * The same for a call that was dialled: nobody may answer it, or a machine, which may bring the person.
 * @param machine who answers; `speak` gives 8 kHz mu-law
 */
export async function answerCall(
  call: ConnectingCall,
  steps: readonly CallerStep[],
  machine?: { script: MachineScript; speak(text: string): Promise<Uint8Array> },
): Promise<CallOutcome> {
  let keys = '';
  if (machine) call.hearKeys((digits) => (keys += digits));
  try {
    await call.connected();
  } catch (error) {
    if (!(error instanceof CallNotConnectedError)) throw error;
    return outcomeOf(call, error.end);
  }
  if (machine) {
    const { script, speak } = machine;
    const then = await playMachine(call.line, script.parts, { speak, keys: () => keys });
    if (then !== 'person') {
      call.hangUp();
      return outcomeOf(call, await call.ended);
    }
  }
  return holdCall(call, steps);
}

function outcomeOf(call: EmulatedCall, end: EmulatedCallEnd): CallOutcome {
  return {
    call_id: call.callId,
    from: call.from,
    ended_by: end.source,
    transferred_to: end.transferredTo ?? null,
    duration_seconds: end.durationSeconds,
  };
}

/** A polite person waits for the agent's last word, and then hangs up. */
async function sayGoodbye(call: EmulatedCall, line: CarrierLine): Promise<void> {
  await line.waitFor(() => line.bufferedMs === 0 && !line.agentHeardWithin(LAST_WORD_MS), FINAL_WAIT_MS);
  if (line.isStreaming) call.hangUp();
}
