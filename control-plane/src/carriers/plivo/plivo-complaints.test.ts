import t from 'tap';
import { openPlivoApi } from './plivo-api.ts';
import { PlivoComplaints, toTime } from './plivo-complaints.ts';

void t.test('times are read as Plivo writes them, in India where it names no zone', (t) => {
  const cases: [written: string, read: string | null][] = [
    ['2026-11-27 18:30:00+05:30', '2026-11-27T13:00:00.000Z'],
    ['2026-11-27T13:00:00Z', '2026-11-27T13:00:00.000Z'],
    ['2026-11-27 13:00:00.123456+0000', '2026-11-27T13:00:00.123Z'],
    ['2026-11-27 18:30', '2026-11-27T13:00:00.000Z'],
    ['2026-11-27', '2026-11-27T18:30:00.000Z'],
    ['2026-13-27', null],
    ['2026-11-27 25:00:00', null],
    ['next Friday', null],
    ['', null],
  ];
  for (const [written, read] of cases) t.equal(toTime(written)?.toISOString() ?? null, read, written);
  t.end();
});

void t.test('a callback is read where it is signed: in a form', (t) => {
  const complaints = new PlivoComplaints(openPlivoApi({ authId: 'MA1', authToken: 'token' }));
  const read = (type: string, body: string) =>
    complaints.parseCallback({
      ...{ method: 'POST', url: 'https://voice.example.com/', headers: { 'content-type': type } },
      body: Buffer.from(body),
    });
  const form = 'application/x-www-form-urlencoded';
  t.same(
    read(form, 'reference_id=R1&status=rejected&to_number=private&deadline_at=soon&circle=KA&call_uuid=+'),
    {
      referenceId: 'R1',
      status: 'rejected',
      fromNumber: null,
      toNumber: 'private',
      initiationDate: null,
      category: null,
      callUuid: null,
      proofUrl: null,
      rejectionReason: null,
      deadlineAt: null,
      // A deadline that cannot be read is not lost.
      raw: { circle: 'KA', deadline_at: 'soon' },
    },
  );
  t.throws(() => read(form, 'status=rejected'), { name: 'CarrierProtocolError' });
  t.throws(() => read('application/json', '{"reference_id":"R1"}'), { name: 'CarrierProtocolError' });
  t.end();
});
