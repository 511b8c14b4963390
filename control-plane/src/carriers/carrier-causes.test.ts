import t from 'tap';
import { FAILURE_REASONS } from '@parley/shared/contracts/session-values';
import { dialOutcome, type DialOutcome } from './carrier-dialling.ts';
import { PLIVO_FAILURES, plivoEnd, plivoRecordEnd } from './plivo/plivo-causes.ts';
import { TELNYX_FAILURES, TELNYX_REFUSALS, telnyxEnd } from './telnyx/telnyx-causes.ts';
import { TWILIO_FAILURES, TWILIO_REFUSALS, TWILIO_SIP_FAILURES, twilioEnd } from './twilio/twilio-causes.ts';

const outcome = (end: { failure: Parameters<typeof dialOutcome>[0] | null }): DialOutcome | 'answered' =>
  end.failure === null ? 'answered' : dialOutcome(end.failure);

const hangup = (fields: Record<string, string>) => plivoEnd(new URLSearchParams(fields));

const PLIVO: [code: string, outcome: DialOutcome][] = [
  ['0', 'failed'],
  ['1000', 'no_answer'],
  ['1010', 'failed'],
  ['2000', 'invalid_number'],
  ['2030', 'failed'],
  ['2040', 'failed'],
  ['2050', 'failed'],
  ['2070', 'failed'],
  ['3000', 'no_answer'],
  ['3010', 'busy'],
  ['3020', 'rejected'],
  ['3030', 'failed'],
  ['3040', 'invalid_number'],
  ['3050', 'invalid_number'],
  ['3070', 'failed'],
  ['3080', 'failed'],
  ['3090', 'failed'],
  ['3110', 'failed'],
  ['3130', 'failed'],
  ['3140', 'failed'],
  ['4000', 'no_answer'],
  ['4010', 'failed'],
  ['5010', 'failed'],
  ['5020', 'failed'],
  ['5030', 'failed'],
  ['6010', 'no_answer'],
  ['6020', 'failed'],
  ['7011', 'failed'],
  ['7012', 'failed'],
  ['7013', 'failed'],
  ['7014', 'failed'],
  ['8011', 'failed'],
  ['8012', 'failed'],
  ['8013', 'failed'],
  ['8014', 'failed'],
  ['9100', 'failed'],
];

void t.test('every hang-up code of Plivo', async (t) => {
  t.same(
    PLIVO.map(([code]) => code),
    Object.keys(PLIVO_FAILURES),
    'each has a row here',
  );
  for (const [code, expected] of PLIVO) {
    t.equal(outcome(hangup({ CallStatus: 'failed', HangupCauseCode: code })), expected, code);
    t.equal(outcome(plivoRecordEnd({ hangup_cause_code: Number(code) })), expected, `${code} in a record`);
    t.equal(outcome(hangup({ CallStatus: 'completed', HangupCauseCode: code })), 'answered', code);
  }
  const answered = { answer_time: '2026-01-02 03:04:05+00:00', hangup_cause_code: 4000 };
  t.equal(outcome(plivoRecordEnd(answered)), 'answered');
  t.equal(outcome(plivoRecordEnd({})), 'failed', 'a record that says nothing');
  const statuses = { busy: 'busy', 'no-answer': 'no_answer', timeout: 'no_answer', failed: 'failed' };
  for (const [CallStatus, expected] of Object.entries(statuses)) {
    t.equal(outcome(hangup({ CallStatus })), expected, `${CallStatus} without a code`);
    t.equal(
      outcome(hangup({ CallStatus, HangupCauseCode: '9999' })),
      expected,
      `${CallStatus}, unknown code`,
    );
  }
});

const TWILIO: [status: string, sip: string | null, outcome: DialOutcome | 'answered'][] = [
  ['completed', null, 'answered'],
  ['completed', '200', 'answered'],
  ['busy', null, 'busy'],
  ['busy', '486', 'busy'],
  ['busy', '600', 'busy'],
  ['busy', '603', 'rejected'],
  ['no-answer', null, 'no_answer'],
  ['no-answer', '487', 'no_answer'],
  ['canceled', null, 'no_answer'],
  ['canceled', '487', 'no_answer'],
  ['failed', null, 'failed'],
  ['failed', '503', 'failed'],
  ['failed', '404', 'invalid_number'],
  ['failed', '408', 'no_answer'],
  ['failed', '480', 'no_answer'],
  ['failed', '484', 'invalid_number'],
  ['failed', '486', 'busy'],
  ['failed', '600', 'busy'],
  ['failed', '603', 'rejected'],
];

void t.test('every final status of Twilio, with every SIP code that says more', async (t) => {
  for (const status of Object.keys(TWILIO_FAILURES))
    t.ok(
      TWILIO.some(([one, sip]) => one === status && sip === null),
      `${status} has a row here`,
    );
  for (const code of Object.keys(TWILIO_SIP_FAILURES))
    t.ok(
      TWILIO.some(([status, sip]) => status === 'failed' && sip === code),
      `${code} has a row here`,
    );
  for (const [status, sip, expected] of TWILIO)
    t.equal(outcome(twilioEnd(status, sip)), expected, `${status} ${sip ?? ''}`);
});

const TELNYX: [cause: string, outcome: DialOutcome | 'answered'][] = [
  ['normal_clearing', 'answered'],
  ['time_limit', 'answered'],
  ['call_rejected', 'rejected'],
  ['originator_cancel', 'no_answer'],
  ['timeout', 'no_answer'],
  ['no_answer', 'no_answer'],
  ['user_busy', 'busy'],
  ['not_found', 'invalid_number'],
  ['unspecified', 'failed'],
];

void t.test('every hang-up cause of Telnyx', async (t) => {
  t.same(
    TELNYX.map(([cause]) => cause),
    Object.keys(TELNYX_FAILURES),
    'each has a row here',
  );
  for (const [cause, expected] of TELNYX) t.equal(outcome(telnyxEnd(cause, '200')), expected, cause);
});

void t.test('refusals of a request that are about the number', async (t) => {
  t.same(TWILIO_REFUSALS, {
    21211: 'invalid_number',
    21214: 'invalid_number',
    21215: 'blocked',
    21216: 'blocked',
    21217: 'invalid_number',
  });
  t.same(TELNYX_REFUSALS, { 10002: 'invalid_number', 10016: 'invalid_number' });
});

void t.test('whatever else a session fails of is a failed dial', async (t) => {
  const own = new Set(['no_answer', 'busy', 'rejected', 'invalid_number']);
  for (const failure of FAILURE_REASONS)
    t.equal(dialOutcome(failure), own.has(failure) ? failure : 'failed', failure);
});
