import { randomUUID } from 'node:crypto';
import { carrierCallbackPath } from '@parley/shared/contracts/addresses';
import { newId } from '@parley/shared/ids/new-id';
import { MANY_NUMBER, MANY_START, RARE_NUMBER, nthId, unique } from '../composition/sample.ts';
import type { Sample, SampleWorld } from '../composition/sample.ts';

const DAY_MS = 86_400_000;

/** A complaint about a call of the world's account at the emulated carrier. */
async function complaint({ put, plivo, project }: SampleWorld, more: object = {}): Promise<string> {
  const ucc_id = newId('ucc');
  const reference_id = randomUUID();
  plivo.complain(reference_id);
  await put('ucc_complaints', {
    _id: ucc_id,
    org_id: project.ids['org_id'],
    telephony_account_id: plivo.accountId,
    provider: 'plivo',
    reference_id,
    status: 'pending',
    deadline_at: new Date(Date.now() + DAY_MS),
    ...more,
  });
  return ucc_id;
}

function proofForm(): FormData {
  const form = new FormData();
  form.append('file', new File(['%PDF-1.7'], 'consent.pdf', { type: 'application/pdf' }));
  return form;
}

export const uccComplaintSample: Sample = {
  make: async (world) => ({ ucc_id: await complaint(world) }),
  scenarios: {
    syncPlivoUccComplaints: async ({ make, owner, plivo }, send) => {
      // Accounts of other features' samples are refused by the carrier.
      const { id: org_id } = await make('/v1/orgs', { name: unique() });
      const body = { name: 'Line', provider: 'plivo', credentials: plivo.credentials };
      await make(`/v1/orgs/${org_id}/telephony-accounts`, body);
      const request = { ids: { org_id }, token: owner.token };
      await send(200, request);
      plivo.setFaults([{ kind: 'refuse', status: 503, count: 1 }]);
      await send(502, request);
      plivo.setFaults([{ kind: 'refuse', status: 504, count: 1 }]);
      await send(504, request);
    },
    proveUccConsent: async (world, send) => {
      const ids = { ucc_id: await complaint(world) };
      const broken = { 'content-type': 'multipart/form-data; boundary=x' };
      await send(400, { ids, body: 'no parts', headers: broken });
      world.plivo.setFaults([{ kind: 'refuse', status: 503, count: 1 }]);
      await send(502, { ids, body: proofForm() });
      world.plivo.setFaults([{ kind: 'refuse', status: 504, count: 1 }]);
      await send(504, { ids, body: proofForm() });
      await send(200, { ids, body: proofForm() });
      await send(409, { ids, body: proofForm() });
    },
    carrierUcc: async ({ plivo, project }, send) => {
      const ids = { ...project.ids, carrier: 'plivo', telephony_account_id: plivo.accountId };
      const path = carrierCallbackPath('plivo', 'ucc', plivo.accountId);
      const form = new URLSearchParams({ reference_id: randomUUID(), status: 'pending' });
      await send(200, { token: null, ids, body: form, headers: plivo.signed(path, form) });
      const other = new URLSearchParams({ status: 'pending' });
      await send(400, { token: null, ids, body: other, headers: plivo.signed(path, other) });
      await send(403, { token: null, ids, body: form });
      await send(422, { token: null, ids: { ...ids, carrier: 'pigeon' }, body: form });
    },
  },
  many: ({ inOrg }) => [
    {
      collection: 'ucc_complaints',
      count: 1500,
      record: (n, rare) => ({
        ...inOrg,
        _id: nthId('ucc', n),
        telephony_account_id: nthId('tel', rare ? 7 : (n % 3) + 1),
        provider: 'plivo',
        reference_id: `UCC-${n}`,
        status: rare ? 'rejected' : 'pending',
        from_number: rare ? RARE_NUMBER : MANY_NUMBER,
        to_number: rare ? RARE_NUMBER : MANY_NUMBER,
        deadline_at: new Date(MANY_START + ((n * 31) % 1500) * DAY_MS),
      }),
    },
  ],
  filters: () => ({
    from_number: [MANY_NUMBER, RARE_NUMBER, '+14155550000'],
    to_number: [MANY_NUMBER, RARE_NUMBER, '+14155550000'],
    telephony_account_id: [nthId('tel', 1), nthId('tel', 7), nthId('tel', 5000)],
  }),
};
