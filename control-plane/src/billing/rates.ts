import type { CallPrices, UsedModel } from '@parley/shared/contracts/call-prices';
import type { Directory } from '../tenancy/directory.ts';
import type { Database } from '../storage/database.ts';
import { INSTALLATION_RATES, installationRatesCollection, orgRatesCollection } from './rate-model.ts';
import type { OrgRatesRecord } from './rate-model.ts';
import { modelPrice, modelPricesOf, pricesOf } from './rate-table.ts';
import type { ModelRate, PaidModels, PricedCall, RateTable } from './rate-table.ts';

/** Where neither a table nor the org names one. */
const DEFAULT_CURRENCY = 'USD';

/** Says who pays for a model: `OrgModelCatalog`. */
export interface ModelPayers {
  /** Whether calls of the org that use the model are made with an account of the installation. */
  paidByInstallation(
    orgId: string,
    id: string,
    use: { projectId: string | null; voice?: string | null },
  ): Promise<boolean>;
}

/** A session, as far as its price depends on it. */
export interface PricedSession extends PricedCall {
  orgId: string;
  projectId: string;
  models: Record<keyof PaidModels, string>;
  voice: string | null;
}

/** A model that a call may use, by what it does. */
export type PlannedModel = UsedModel & { kind: keyof PaidModels };

/** What calls cost: the tables of the installation and of orgs. */
export class Rates {
  readonly #database: Database;
  readonly #directory: Pick<Directory, 'org'>;
  readonly #payers: ModelPayers;

  constructor(deps: { database: Database; directory: Pick<Directory, 'org'>; models: ModelPayers }) {
    this.#database = deps.database;
    this.#directory = deps.directory;
    this.#payers = deps.models;
  }

  async ofInstallation(): Promise<RateTable | null> {
    return (await this.#database.read(installationRatesCollection, INSTALLATION_RATES))?.table ?? null;
  }

  async ofOrg(orgId: string): Promise<RateTable | null> {
    return (await this.#database.read(orgRatesCollection, orgId))?.table ?? null;
  }

  /**
   * What a session that begins now costs; null where there are no rates.
   * @param planned the models that it may use; asked for where there are rates
   */
  async pricesFor(
    session: PricedSession,
    planned?: () => Promise<readonly PlannedModel[]>,
  ): Promise<CallPrices | null> {
    const { orgId, projectId, models, voice } = session;
    const tables = await this.#tables(orgId);
    if (!tables.installation && !tables.org) return null;
    const paid = async (id: string, spoken?: string | null) => {
      const use = { projectId, ...(spoken === undefined ? {} : { voice: spoken }) };
      return (await this.#payers.paidByInstallation(orgId, id, use)) ? id : null;
    };
    const [stt, llm, tts] = await Promise.all([paid(models.stt), paid(models.llm), paid(models.tts, voice)]);
    const prices = pricesOf(tables, session, { stt, llm, tts });
    const all = (await planned?.()) ?? [];
    const areFirst = all.length <= 3 && all.every(({ kind, model_id }) => models[kind] === model_id);
    if (!prices || areFirst) return prices;
    const priced = all.map(async ({ kind, model_id, voice: spoken }) => {
      const id = await paid(model_id, spoken);
      const named = { model_id, ...(spoken !== undefined && { voice: spoken }) };
      return { ...named, ...modelPricesOf(tables, { stt: null, llm: null, tts: null, [kind]: id }) };
    });
    return { ...prices, models: await Promise.all(priced) };
  }

  /** What a unit of a model costs that the installation pays for. */
  async price(orgId: string, modelId: string, unit: ModelRate['unit']): Promise<bigint> {
    const { installation, org } = await this.#tables(orgId);
    return BigInt(modelPrice(org?.models ?? installation?.models ?? [], modelId, unit));
  }

  /** Whether the installation pays for what the project asks of a model. */
  isPaidFor(orgId: string, modelId: string, projectId: string | null): Promise<boolean> {
    return this.#payers.paidByInstallation(orgId, modelId, { projectId });
  }

  /** Of what is booked for an org. */
  async currency(orgId: string): Promise<string> {
    const { installation, org } = await this.#tables(orgId);
    const currency = org?.currency ?? installation?.currency;
    return currency ?? (await this.#directory.org(orgId))?.currency ?? DEFAULT_CURRENCY;
  }

  /** Replaces the table of an org, or of the installation; null removes it. */
  async set(table: RateTable | null, orgId?: string): Promise<void> {
    const where = orgId ?? INSTALLATION_RATES;
    const collection = orgId === undefined ? installationRatesCollection : orgRatesCollection;
    const model = this.#database.model<{ _id: string; created_at: Date; updated_at: Date }>(collection);
    if (!table) await model.deleteOne({ _id: where });
    else
      await model.updateOne(
        { _id: where },
        { $set: { table, ...(orgId !== undefined && { org_id: orgId }) } },
        { upsert: true },
      );
  }

  /**
   * The currency of a table that could be used together with one in `currency`, and is not in it.
   * @param orgId whose table that would be; undefined: the installation's
   */
  async otherCurrency(currency: string, orgId?: string): Promise<string | undefined> {
    if (orgId !== undefined) {
      const installation = await this.ofInstallation();
      return installation && installation.currency !== currency ? installation.currency : undefined;
    }
    const other = await this.#database
      .model(orgRatesCollection)
      .findOne({ 'table.currency': { $ne: currency } })
      .lean<OrgRatesRecord>();
    return other?.table.currency;
  }

  async #tables(orgId: string): Promise<{ installation: RateTable | null; org: RateTable | null }> {
    const [installation, org] = await Promise.all([this.ofInstallation(), this.ofOrg(orgId)]);
    return { installation, org };
  }
}
