import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { ProviderName } from '@parley/shared/contracts/session-values';
import type { ModelKind } from './provider-descriptor.ts';

export interface ModelPrice {
  unit: 'minute' | '1k_characters' | '1m_input_tokens' | '1m_output_tokens';
  /** Decimal, up to six places. */
  amount: string;
  currency: string;
}

/** A model that an org brought along. */
export interface OwnModelRecord extends StoredRecord {
  org_id: string;
  kind: ModelKind;
  provider: ProviderName;
  /** Null = the vendor's own address. */
  base_url: string | null;
  model: string;
  name: string;
  /** BCP 47 tags or `*`. */
  languages: string[];
  credential_id: string | null;
  prices: ModelPrice[];
  disabled: boolean;
}

export const ownModelCollection = defineCollection<OwnModelRecord, 'org'>({
  name: 'own_models',
  tenancy: 'org',
  fields: {
    kind: { type: String, required: true },
    provider: { type: String, required: true },
    base_url: { type: String, default: null },
    model: { type: String, required: true },
    name: { type: String, required: true },
    languages: { type: [String], required: true },
    credential_id: { type: String, default: null },
    prices: {
      type: [
        {
          _id: false,
          unit: { type: String, required: true },
          amount: { type: String, required: true },
          currency: { type: String, required: true },
        },
      ],
      default: [],
    },
    disabled: { type: Boolean, required: true, default: false },
  },
  indexes: [[{ org_id: 1, created_at: -1, _id: -1 }]],
});
