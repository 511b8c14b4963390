import type { CarrierName } from '@parley/shared/contracts/session-values';
import type { CarrierComplaints } from '../carriers/carrier-complaints.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { Scope } from '../tenancy/scope.ts';

/** The account at a carrier that complaints are about. */
export interface ComplaintAccount extends StoredRecord {
  org_id: string;
  provider: CarrierName;
  status: 'unverified' | 'active' | 'invalid' | 'disabled';
}

/** Accounts at carriers: `TelephonyAccountService`. */
export interface ComplaintAccounts {
  find(accountId: string): Promise<ComplaintAccount | null>;
  /** Those that the scope may see; of one carrier, where it is named. */
  seenBy(scope: Scope, provider?: CarrierName): Promise<ComplaintAccount[]>;
  /** Those of all orgs that are in use at a carrier with a feed, by their ids. @param page.after the last of the page before */
  withFeed(page: { after: string; limit: number }): Promise<ComplaintAccount[]>;
  /** The feed of one. @returns null where there is no such account, or no feed */
  openComplaints(accountId: string): Promise<CarrierComplaints | null>;
}
