import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { BILLING_AUDIT } from './billing-commands.ts';
import type { BookedCalls } from './booked-call.ts';
import { chargeCollection } from './charge-model.ts';
import { Charges } from './charges.ts';
import { ChatCharges } from './chat-charges.ts';
import { CallCosts } from './call-costs.ts';
import { costEntryCollection } from './cost-entry-model.ts';
import { installationRatesCollection, orgRatesCollection } from './rate-model.ts';
import { Rates, type ModelPayers } from './rates.ts';
import { SpeechCharges } from './speech-charges.ts';
import { walletCollection, walletEntryCollection } from './wallet-model.ts';
import type { WalletRecord } from './wallet-model.ts';
import { walletRoutes } from './wallet-routes.ts';
import { Wallets } from './wallets.ts';

/** How old a hold is before it may be somebody's who died: no request that makes a session takes as long. */
const ABANDONED_MS = 10 * 60_000;
const SWEEP_MS = 60_000;

/** What calls cost: rates, wallets, and the bookings of sessions. */
export function createBilling({
  bookedCalls,
  models,
  isSession,
  ...deps
}: Pick<Platform, 'clock' | 'database' | 'directory'> & {
  bookedCalls: BookedCalls;
  models: ModelPayers;
  /** Whether a session of this id was made. */
  isSession(id: string): Promise<boolean>;
}) {
  const rates = new Rates({ ...deps, models });
  const wallets = new Wallets(deps);
  const callCosts = new CallCosts({ ...deps, rates, wallets, bookedCalls });
  /** The wallet of an org; one that nobody has set up is unlimited and empty. */
  const read = async (orgId: string): Promise<WalletRecord> => {
    const wallet = await wallets.find(orgId);
    if (wallet) return wallet;
    const org = await deps.directory.org(orgId);
    const madeAt = org?.created_at ?? new Date(deps.clock.now());
    return {
      ...{ _id: orgId, org_id: orgId, mode: 'unlimited', currency: await rates.currency(orgId), revision: 0 },
      ...{ balance_nano: 0n, reserved_nano: 0n, low_balance_nano: null, holds: {}, pending: [] },
      ...{ created_at: madeAt, updated_at: madeAt },
    };
  };
  const charges = new Charges({ ...deps, rates, wallets });
  const chatCharges = new ChatCharges({ rates, wallets, charges });
  const speechCharges = new SpeechCharges({ rates, wallets, charges });
  return {
    ...{ rates, wallets, callCosts, charges, chatCharges, speechCharges },
    collections: [
      chargeCollection,
      costEntryCollection,
      installationRatesCollection,
      orgRatesCollection,
      walletCollection,
      walletEntryCollection,
    ],
    routes: walletRoutes({ read }),
    audit: BILLING_AUDIT,
    workers: [
      {
        name: 'abandoned holds',
        everyMs: SWEEP_MS,
        work: (signal) => wallets.sweep(deps.clock.now() - ABANDONED_MS, isSession, signal),
      },
    ],
  } satisfies Feature & { callCosts: CallCosts };
}
