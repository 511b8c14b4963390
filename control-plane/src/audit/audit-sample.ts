import { nthId } from '../composition/sample.ts';
import type { Sample } from '../composition/sample.ts';

const [MANY_USER, RARE_USER] = [nthId('usr', 1), nthId('usr', 2)];
const [MANY_TARGET, RARE_TARGET] = [nthId('phn', 1), nthId('phn', 2)];

export const auditSample: Sample = {
  many: ({ inOrg }) => [
    {
      collection: 'audit_entries',
      count: 'unbounded',
      record: (n, rare) => ({
        ...inOrg,
        _id: nthId('adt', n),
        actor: rare ? RARE_USER : MANY_USER,
        address: '192.0.2.1',
        action: rare ? 'phone_number.released' : 'phone_number.bought',
        target: rare ? RARE_TARGET : MANY_TARGET,
        expires_at: new Date('2100-01-01T00:00:00Z'),
      }),
    },
  ],
  filters: () => ({
    actor: [MANY_USER, RARE_USER, nthId('usr', 3)],
    action: ['phone_number.bought', 'phone_number.released', 'phone_number.lost'],
    target: [MANY_TARGET, RARE_TARGET, nthId('phn', 3)],
  }),
};
