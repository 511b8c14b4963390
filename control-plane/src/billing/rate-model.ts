import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { RateTable } from './rate-table.ts';

/** The one record of the installation's rates. */
export const INSTALLATION_RATES = 'installation';

export interface InstallationRatesRecord extends StoredRecord {
  /** Read and written whole. */
  table: RateTable;
}

export const installationRatesCollection = defineCollection<InstallationRatesRecord, 'none'>({
  name: 'installation_rates',
  tenancy: 'none',
  fields: { table: { type: Object, required: true } },
});

/** Rates of one org, under the org's id. */
export interface OrgRatesRecord extends StoredRecord {
  org_id: string;
  table: RateTable;
}

export const orgRatesCollection = defineCollection<OrgRatesRecord, 'org'>({
  name: 'org_rates',
  tenancy: 'org',
  fields: { table: { type: Object, required: true } },
  indexes: [[{ org_id: 1 }]],
});
