import { refusal } from './built-in-tools.ts';
import type { Outcome } from './tool-log.ts';

/** What the model is told of tool calls that have no result yet, or never will. */

/** A tool that needs a yes was called. */
export const ASK = JSON.stringify({
  status: 'waiting_for_yes',
  message:
    'This is not done yet: it needs the yes of the caller. Say in one sentence what exactly is to be done, and ask for a yes or a no. The answer is found by the system: do not call the tool again, and do not say that it is done.',
});

export const ASK_AGAIN = JSON.stringify({
  status: 'waiting_for_yes',
  message:
    'The caller said neither a clear yes nor a clear no, so this is not done. Answer what they said, then ask once more for a yes or a no. If they want something else, call the tool with that instead.',
});

/** An `async` tool was started. */
export const STARTED = JSON.stringify({
  status: 'started',
  message: 'This takes a while. Go on with the call: the result is given to you when it is there.',
});

export const DECLINED = notDone('declined', 'The caller said no. It was not done.');
export const UNCONFIRMED = notDone(
  'unconfirmed',
  'The caller did not clearly say yes. It was not done, and is not asked again. Offer something else.',
);
export const SUPERSEDED = notDone('superseded', 'The tool was called with other arguments instead.');
export const TRANSFERRED = notDone('transferred', 'The caller was transferred before they had answered.');
export const ENDED = notDone('call_ended', 'The call ended first.');
export const OVERDUE = notDone('timeout', 'The tool did not answer in time.');
export const STILL_ASKED = notDone(
  'confirmation_pending',
  'The caller has not answered yet. Ask for their yes or no about what was called before, one thing at a time.',
);
export const TOO_MANY = notDone('too_many_running', 'Too many tools are running. Wait for their results.');
export const BAD_ARGUMENTS = notDone(
  'invalid_arguments',
  'The arguments are not valid JSON. Call the tool again with a JSON object.',
);

/** @param what the model is to do instead */
export function repeatedFailure(what: string): Outcome {
  return notDone(
    'repeated_failure',
    `This has failed each time. It is not tried again in this call: do not call it again. ${what}`,
  );
}

function notDone(code: string, message: string): Outcome {
  return { ok: false, code, content: refusal(message) };
}

/** A tool that threw. */
export function broken(error: unknown): Outcome {
  const message = error instanceof Error ? error.message : 'The tool failed because of an internal error.';
  return { ok: false, code: 'tool_failed', content: refusal(message) };
}
