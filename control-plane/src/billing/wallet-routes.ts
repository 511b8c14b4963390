import { defineOperation } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { inWholeOrg } from '../tenancy/target.ts';
import { toWalletResponse, walletResponse } from './wallet-schema.ts';
import type { WalletRecord } from './wallet-model.ts';

export function walletRoutes({ read }: { read: (orgId: string) => Promise<WalletRecord> }): Operation[] {
  return [
    defineOperation({
      id: 'getWallet',
      method: 'GET',
      path: '/v1/orgs/{org_id}/billing/wallet',
      tag: 'Billing',
      summary: 'Get the wallet',
      description:
        'Of the whole org, for API keys as well; users who may see some projects only are refused. Top-ups and the mode are set by the operator, on the command line of the server.',
      access: { key: 'viewer', user: 'viewer' },
      target: inWholeOrg,
      responses: { 200: { description: 'The wallet', schema: walletResponse } },
      handle: async ({ scope }) => toWalletResponse(await read(scope.orgId)),
    }),
  ];
}
