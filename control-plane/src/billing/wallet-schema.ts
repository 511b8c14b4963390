import { z } from 'zod';
import { amount, toAmount } from '../http/amount.ts';
import { timestamp } from '../http/record-schema.ts';
import type { WalletRecord } from './wallet-model.ts';

export const walletResponse = z
  .object({
    org_id: z.string(),
    mode: z.enum(['unlimited', 'prepaid']).meta({
      description:
        '`unlimited`: nothing is taken off the balance. `prepaid`: calls are paid from the balance, and none begins without.',
    }),
    currency: z.string(),
    balance_amount: amount.meta({ description: 'What was paid in, less what was booked.' }),
    reserved_amount: amount.meta({ description: 'Set aside for calls that run.' }),
    available_amount: amount.meta({ description: 'The balance less what is set aside.' }),
    low_balance_amount: amount
      .nullable()
      .meta({ description: 'The wallet counts as low when no more than this is available; null: never.' }),
    status: z.enum(['ok', 'low', 'empty']).meta({
      description: '`empty`: new calls are refused with 402; those that run go on.',
    }),
    updated_at: timestamp,
  })
  .meta({ id: 'Wallet' });
export type WalletResponse = z.output<typeof walletResponse>;

export function toWalletResponse(wallet: WalletRecord): WalletResponse {
  const available = wallet.balance_nano - wallet.reserved_nano;
  return {
    org_id: wallet.org_id,
    mode: wallet.mode,
    currency: wallet.currency,
    balance_amount: toAmount(wallet.balance_nano),
    reserved_amount: toAmount(wallet.reserved_nano),
    available_amount: toAmount(available),
    low_balance_amount: wallet.low_balance_nano === null ? null : toAmount(wallet.low_balance_nano),
    status: statusOf(wallet, available),
    updated_at: wallet.updated_at.toISOString(),
  };
}

function statusOf(
  { mode, low_balance_nano: low }: Pick<WalletRecord, 'mode' | 'low_balance_nano'>,
  available: bigint,
): WalletResponse['status'] {
  if (mode === 'unlimited') return 'ok';
  if (available <= 0n) return 'empty';
  return low !== null && available <= low ? 'low' : 'ok';
}
