import type { Feature } from '../composition/feature.ts';
import { namedRecords } from '../composition/search-source.ts';
import type { Platform } from '../composition/platform.ts';
import { carrierApiUrls } from '../config.ts';
import { idSchema } from '../http/operation.ts';
import type { Scope } from '../tenancy/scope.ts';
import { inboundDeploymentCollection } from './inbound-deployment-model.ts';
import { inboundDeploymentRoutes } from './inbound-deployment-routes.ts';
import { InboundDeploymentService, type DeploymentTargets } from './inbound-deployment-service.ts';
import { NumberProvisioning } from './number-provisioning.ts';
import { phoneNumberCollection } from './phone-number-model.ts';
import { phoneNumberRoutes } from './phone-number-routes.ts';
import {
  NUMBER_AUDIT,
  PhoneNumberService,
  type NumberFunds,
  type NumberUses,
} from './phone-number-service.ts';
import { telephonyAccountCollection } from './telephony-account-model.ts';
import { telephonyAccountRoutes } from './telephony-account-routes.ts';
import { TELEPHONY_AUDIT, TelephonyAccountService } from './telephony-account-service.ts';
import { accountSpendCollection } from './account-spend-model.ts';
import { AccountSpend } from './account-spend.ts';
import { telephonySample } from './telephony-sample.ts';

const PROVISIONING_EVERY_MS = 5000;

export function createTelephony({
  config,
  ...deps
}: Pick<
  Platform,
  'audit' | 'background' | 'box' | 'clock' | 'config' | 'database' | 'directory' | 'logger'
> & {
  targets: DeploymentTargets;
  funds: NumberFunds;
  numberUses: NumberUses;
}) {
  const telephonyAccounts = new TelephonyAccountService({
    ...{ ...deps, publicUrl: config.PUBLIC_URL },
    apiUrls: carrierApiUrls(config),
  });
  const accounts = telephonyAccounts;
  const provisioning = new NumberProvisioning({ ...deps, accounts, publicUrl: config.PUBLIC_URL });
  const phoneNumbers = new PhoneNumberService({ ...deps, accounts, provisioning, uses: deps.numberUses });
  const inboundDeployments = new InboundDeploymentService({ ...deps, forwards: telephonyAccounts });
  return {
    ...{ telephonyAccounts, phoneNumbers, inboundDeployments },
    accountSpend: new AccountSpend(deps),
    collections: [
      accountSpendCollection,
      inboundDeploymentCollection,
      phoneNumberCollection,
      telephonyAccountCollection,
    ],
    searches: [
      namedRecords('phone_number', phoneNumberCollection, {
        list: 'listPhoneNumbers',
        fields: ['phone_number', 'label'],
        number: 'phone_number',
        name: ({ phone_number, label }) => (label === '' ? phone_number : `${phone_number} (${label})`),
      }),
      namedRecords('inbound_deployment', inboundDeploymentCollection, { list: 'listInboundDeployments' }),
      namedRecords('telephony_account', telephonyAccountCollection, { list: 'listTelephonyAccounts' }),
    ],
    routes: [
      ...telephonyAccountRoutes({ telephonyAccounts, publicUrl: config.PUBLIC_URL }),
      ...phoneNumberRoutes({ phoneNumbers }),
      ...inboundDeploymentRoutes({ inboundDeployments }),
    ],
    parameters: {
      telephony_account_id: idSchema('tel'),
      phone_number_id: idSchema('phn'),
      inbound_deployment_id: idSchema('ibd'),
    },
    uses: {
      async agent(scope: Scope, agentId: string) {
        const bound = await scope.collection(inboundDeploymentCollection).find(
          {
            status: 'active',
            $or: [
              { agent_id: agentId },
              { 'outside_hours.agent_id': agentId },
              { 'overflow.action.agent_id': agentId },
            ],
          },
          { limit: 20 },
        );
        return bound.map(({ _id, name }) => ({ type: 'inbound_deployment', id: _id, name }));
      },
      async project(scope: Scope) {
        const numbers = await scope
          .collection(phoneNumberCollection)
          .find({ active_number: { $ne: null } }, { limit: 20 });
        return numbers.map((number) => ({ type: 'phone_number', id: number._id, name: number.phone_number }));
      },
    },
    audit: [...TELEPHONY_AUDIT, ...NUMBER_AUDIT],
    workers: [
      {
        name: 'phone numbers',
        everyMs: PROVISIONING_EVERY_MS,
        work: (signal) => provisioning.run(signal),
        wakeWith: (task) => provisioning.wakeWith(task),
      },
    ],
    samples: [telephonySample],
  } satisfies Feature & { telephonyAccounts: TelephonyAccountService; accountSpend: AccountSpend };
}
