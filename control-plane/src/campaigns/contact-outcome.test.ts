import t from 'tap';
import { FAILURE_REASONS } from '@parley/shared/contracts/session-values';
import type { RetryRule } from './campaign-model.ts';
import { afterAttempt, isTechnical, outcomeOf } from './contact-outcome.ts';
import type { AttemptedSession } from './contact-outcome.ts';

const NEVER: AttemptedSession = {
  status: 'failed',
  started_at: null,
  failure_reason: null,
  hangup_reason: null,
  ended_by: null,
  answered_by: null,
  outcome: null,
};
const talked = (more: Partial<AttemptedSession> = {}): AttemptedSession => ({
  ...{ ...NEVER, status: 'ended', started_at: new Date(0), hangup_reason: 'caller_hangup' },
  ...more,
});
const failed = (failure_reason: string): AttemptedSession => ({ ...NEVER, failure_reason });
const RULE: RetryRule = {
  max_attempts: 4,
  delays_minutes: [30, 120],
  retry_on: ['no_answer', 'busy', 'failed'],
};

void t.test('what a call came to, for every reason of a failure', (t) => {
  const named = ['no_answer', 'busy', 'rejected', 'invalid_number'];
  for (const reason of FAILURE_REASONS)
    t.equal(outcomeOf(failed(reason)), named.includes(reason) ? reason : 'failed', reason);
  t.same(
    FAILURE_REASONS.filter((failure_reason) => isTechnical({ failure_reason })),
    [...['carrier_error', 'media_timeout', 'stt_error', 'llm_error', 'tts_error', 'flow_loop', 'internal']],
  );
  t.equal(outcomeOf(talked()), 'answered');
  t.equal(outcomeOf(talked({ failure_reason: 'llm_error' })), 'answered', 'a breakdown in a conversation');
  t.equal(outcomeOf(talked({ answered_by: 'voicemail' })), 'voicemail');
  t.equal(outcomeOf(talked({ outcome: 'voicemail' })), 'voicemail');
  t.equal(outcomeOf(talked({ hangup_reason: 'voicemail' })), 'voicemail');
  t.equal(outcomeOf({ ...NEVER, status: 'cancelled' }), 'cancelled');
  t.equal(outcomeOf({ ...NEVER, status: 'ended' }), 'failed', 'over before media flowed');
  t.equal(outcomeOf({ ...NEVER, status: 'expired' }), 'failed');
  t.end();
});

void t.test('who is called again, and when', (t) => {
  const delays = [1, 2, 3, 4].map((round) => afterAttempt(failed('busy'), RULE, round, 'open'));
  t.same(delays, [
    { event: 'retry', delayMinutes: 30 },
    { event: 'retry', delayMinutes: 120 },
    { event: 'retry', delayMinutes: 120 },
    { event: 'fail' },
  ]);
  const never: RetryRule = { ...RULE, retry_on: [] };
  const all: RetryRule = { ...RULE, retry_on: ['no_answer', 'busy', 'failed', 'voicemail', 'rejected'] };
  for (const [session, rule, event] of [
    [failed('rejected'), RULE, 'fail'],
    [failed('rejected'), all, 'retry'],
    [failed('invalid_number'), all, 'fail'],
    [failed('carrier_error'), RULE, 'retry'],
    [failed('carrier_error'), never, 'fail'],
    [talked({ outcome: 'voicemail' }), RULE, 'complete'],
    [talked({ outcome: 'voicemail' }), all, 'retry'],
    [talked(), all, 'complete'],
    [failed('blocked'), all, 'skip'],
    [failed('missing_variable'), all, 'skip'],
  ] as const)
    t.equal(afterAttempt(session, rule, 1, 'open').event, event, JSON.stringify(session));
  t.end();
});

void t.test('nobody is called again by a campaign that is over', (t) => {
  for (const state of ['over', 'cancelled'] as const) {
    t.same(afterAttempt(failed('busy'), RULE, 1, state), { event: 'fail' });
    t.same(afterAttempt(talked(), RULE, 1, state), { event: 'complete' });
  }
  const withdrawn: AttemptedSession = { ...NEVER, status: 'cancelled' };
  t.same(afterAttempt(withdrawn, RULE, 1, 'over'), { event: 'skip', reason: 'campaign_ended' });
  t.same(afterAttempt(withdrawn, RULE, 1, 'cancelled'), { event: 'cancel' });
  t.same(afterAttempt(withdrawn, RULE, 1, 'open'), { event: 'cancel' });
  t.end();
});
