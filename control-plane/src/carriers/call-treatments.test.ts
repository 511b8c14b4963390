import t from 'tap';
import { silentLogger } from '@parley/shared/logging/logger';
import { systemClock } from '@parley/shared/time/clock';
import { CallTreatments } from './call-treatments.ts';
import type { Carrier } from './carrier.ts';
import type { CalledNumber, DeployedNumber } from './deployed-number.ts';
import type { TrustedCallback } from './trusted-callback.ts';

const action = { type: 'message', message: 'Not for others.', forward_to: null, agent_id: null } as const;
const number = { _id: 'phn_1', telephony_account_id: 'tel_owner', status: 'active' } as CalledNumber;
const deployment = {
  ...{ _id: 'ibd_1', phone_number_id: 'phn_1', agent_id: 'agt_1', outside_hours: action },
  overflow: { max_concurrent: null, action },
} as DeployedNumber;

/** What the carrier of an account is told after a step that a callback of it speaks of. */
async function told(accountId: string, state: string): Promise<unknown[]> {
  const commands: unknown[] = [];
  const carrier = {
    acknowledge: () => ({ contentType: '', body: '' }),
    hangup: (id: string) => Promise.resolve(void commands.push(['hangup', id])),
    continueTreatment: (id: string, { say }: { say: { text: string } }) =>
      Promise.resolve(void commands.push(['say', id, say.text])),
  } as unknown as Carrier;
  const nobody = () => Promise.resolve(null);
  const treatments = new CallTreatments({
    numbers: { find: (id) => Promise.resolve(id === number._id ? number : null), findActive: nobody },
    deployments: {
      find: (id) => Promise.resolve(id === deployment._id ? deployment : null),
      forNumber: nobody,
    },
    forwards: { mayCall: () => Promise.resolve(true) },
    agents: { forNewSession: nobody, choice: () => Promise.resolve(null), version: nobody },
    directory: {} as never,
    clock: systemClock,
    logger: silentLogger(),
  });
  const trusted = { carrier, account: { _id: accountId } } as TrustedCallback;
  await treatments.continue(trusted, { type: 'treated', carrierCallId: 'v3:1', step: 'answered', state });
  return commands;
}

void t.test('a step goes on only with what is the own account’s', async (t) => {
  t.same(await told('tel_owner', 'ibd_1 outside_hours'), [['say', 'v3:1', 'Not for others.']]);
  for (const [account, state] of [
    ['tel_other', 'ibd_1 outside_hours'],
    ['tel_owner', 'ibd_2 outside_hours'],
    ['tel_owner', 'ibd_1 another'],
    ['tel_owner', ''],
  ] as const)
    t.same(await told(account, state), [['hangup', 'v3:1']], `${account} ${state}`);
});
