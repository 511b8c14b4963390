import type { IncomingMessage } from 'node:http';
import { ConflictError, NotFoundError } from '@parley/shared/errors/app-error';
import { readCsvUpload } from '../csv-imports/csv-upload.ts';
import { peopleColumns } from '../csv-imports/people-columns.ts';
import type { Person } from '../csv-imports/people-columns.ts';
import { checkPeople } from '../csv-imports/people-file.ts';
import { invalid, parseInput } from '../http/validation.ts';
import { importedId } from '../imports/import-kind.ts';
import type { ImportKind, StoredRows } from '../imports/import-kind.ts';
import type { ImportRecord } from '../imports/import-record.ts';
import type { ImportService } from '../imports/import-service.ts';
import type { Principal } from '../tenancy/principal.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { CampaignRecord } from './campaign-model.ts';
import type { CampaignStore } from './campaign-store.ts';
import type { SkipReason } from './contact-model.ts';
import { importContactsFields, MAX_ERRORS } from './contact-schema.ts';
import type { ImportedContacts } from './contact-schema.ts';
import { checkOpen } from './contact-service.ts';
import type { ContactService } from './contact-service.ts';

/** People that are made contacts at a time. */
const BATCH = 500;

/** People of recipient lists: `RecipientListService`. */
export interface ListedPeople {
  /** @throws NotFoundError for a list that the project does not have, or that is none of people */
  people(scope: Scope, listId: string): AsyncIterable<Person[]>;
}

interface Row {
  row: number;
  person: Person;
  /** Of the contact that the row becomes, where it may be stored again. */
  id?: string;
}

const WHY: Readonly<Record<SkipReason, string>> = {
  invalid_number: 'is no number that can be dialled',
  duplicate: 'is a contact of the campaign already',
  suppressed: 'is in a suppression list',
  missing_variable: 'lacks a variable',
  campaign_ended: 'comes after the end of the campaign',
};

/** Makes the people of CSV files and of recipient lists contacts. */
export class ContactImports implements ImportKind {
  readonly target = 'campaign_id';
  readonly batch = BATCH;
  readonly #contacts: Pick<ContactService, 'add' | 'existing' | 'update'>;
  readonly #campaigns: Pick<CampaignStore, 'find' | 'tookList'>;
  readonly #lists: ListedPeople;
  readonly #imports: Pick<ImportService, 'begin'>;

  constructor(deps: {
    contacts: Pick<ContactService, 'add' | 'existing' | 'update'>;
    campaigns: Pick<CampaignStore, 'find' | 'tookList'>;
    lists: ListedPeople;
    imports: Pick<ImportService, 'begin'>;
  }) {
    this.#contacts = deps.contacts;
    this.#campaigns = deps.campaigns;
    this.#lists = deps.lists;
    this.#imports = deps.imports;
  }

  /**
   * Reads the file of a multipart body, a batch of rows in memory at a time. The same file again changes nothing more.
   * @throws AppError 400 `bad_file`, having stored nothing; 413; 415; ConflictError `invalid_state`, `limit_reached` for
   *   the rows from which on the campaign is full; ValidationError
   */
  async fromFile(campaign: CampaignRecord, request: IncomingMessage): Promise<ImportedContacts> {
    checkOpen(campaign);
    return readCsvUpload(request, ['default_country', 'on_duplicate'], async (open, sent) => {
      const fields = parseInput(importContactsFields, sent, 'body');
      const columns = await checkPeople(open(), fields.default_country);
      const report = new Report(columns.phone);
      let batch: Row[] = [];
      let row = -1;
      for await (const cells of open()) {
        // The header.
        if (++row === 0) continue;
        const read = columns.read(cells);
        if ('person' in read) batch.push({ row, person: read.person });
        else report.skip(row, read.problems);
        if (batch.length < BATCH) continue;
        await this.#store(campaign, batch, fields.on_duplicate === 'update', report);
        batch = [];
      }
      await this.#store(campaign, batch, fields.on_duplicate === 'update', report);
      return report.result;
    });
  }

  /** Takes the file of a multipart body: its rows are read later. @throws ConflictError `invalid_state`; as `ImportService.begin` */
  begin(
    scope: Scope,
    campaign: CampaignRecord,
    caller: Principal,
    request: IncomingMessage,
  ): Promise<ImportRecord> {
    checkOpen(campaign);
    return this.#imports.begin(scope, caller, request, {
      projectId: campaign.project_id,
      target: { campaign_id: campaign._id },
      fields: ['default_country', 'on_duplicate'],
      check(header, sent) {
        const { default_country = null, on_duplicate } = parseInput(importContactsFields, sent, 'body');
        peopleColumns(header);
        return { default_country, on_duplicate };
      },
    });
  }

  async open(claimed: ImportRecord, header: readonly string[]): ReturnType<ImportKind['open']> {
    const columns = peopleColumns(header, { defaultCountry: claimed.default_country ?? undefined });
    return async (rows, mayBeThere) => {
      const campaign = await this.#campaigns.find(claimed.campaign_id!);
      if (!campaign) throw new ConflictError('invalid_state', 'The campaign was deleted.');
      const read = rows.map(({ record, cells }) => ({ record, ...columns.read(cells) }));
      const ids = read.map(({ record }) => importedId('cct', claimed._id, record));
      // Stored before, and not told of.
      const there = mayBeThere ? await this.#contacts.existing(ids) : new Set<string>();
      const people = read.flatMap((one, n) =>
        'person' in one && !there.has(ids[n]!) ? [{ row: one.record, person: one.person, id: ids[n]! }] : [],
      );
      const update = claimed.on_duplicate === 'update';
      const stored = await this.#put(campaign, people, update, columns.phone);
      return {
        ...stored,
        imported: stored.imported + there.size,
        errors: [...read.flatMap((one) => ('problems' in one ? [one] : [])), ...stored.errors],
      };
    };
  }

  /** The same with those of a recipient list who may be called. @throws ValidationError for a list that there is not */
  async fromList(scope: Scope, campaign: CampaignRecord, listId: string): Promise<ImportedContacts> {
    checkOpen(campaign);
    const report = new Report('phone_number');
    let row = 0;
    try {
      for await (const people of this.#lists.people(scope, listId)) {
        const rows = people.map((person) => ({ row: ++row, person }));
        await this.#store(campaign, rows, true, report);
      }
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      throw invalid(['body', 'recipient_list_id'], 'Record not found in this project', 'reference_not_found');
    }
    await this.#campaigns.tookList(campaign._id, listId);
    return report.result;
  }

  async #store(
    campaign: CampaignRecord,
    rows: readonly Row[],
    update: boolean,
    report: Report,
  ): Promise<void> {
    const stored = await this.#put(campaign, rows, update, report.phone);
    report.result.imported += stored.imported;
    report.result.updated += stored.updated;
    report.result.skipped += stored.skipped;
    for (const { record, problems } of stored.errors) report.skip(record, problems);
  }

  /** @param phone name of the column of numbers */
  async #put(
    campaign: CampaignRecord,
    rows: readonly Row[],
    update: boolean,
    phone: string,
  ): Promise<StoredRows> {
    if (rows.length === 0) return { imported: 0, updated: 0, skipped: 0, errors: [] };
    const people = rows.map(({ person, id }) => ({ ...person, ...(id !== undefined && { id }) }));
    const { added, skipped } = await this.#contacts.add(campaign, people);
    const double = skipped.filter(({ reason }) => reason === 'duplicate').map(({ index }) => index);
    const updated = update
      ? await this.#contacts.update(
          campaign,
          double.map((index) => people[index]!),
        )
      : 0;
    return {
      ...{ imported: added, updated, skipped: double.length - updated },
      errors: skipped
        .filter(({ reason }) => reason !== 'duplicate')
        .map(({ index, reason }) => ({
          record: rows[index]!.row,
          problems: [{ column: phone, msg: WHY[reason] }],
        })),
    };
  }
}

/** What became of rows. */
class Report {
  readonly result: ImportedContacts = { imported: 0, updated: 0, skipped: 0, errors: [] };
  /** Name of the column of numbers. */
  readonly phone: string;

  constructor(phone: string) {
    this.phone = phone;
  }

  skip(row: number, problems: readonly { column: string; msg: string }[]): void {
    this.result.skipped++;
    const { errors } = this.result;
    for (const { column, msg } of problems)
      if (errors.length < MAX_ERRORS) errors.push({ row, loc: column === '' ? [] : [column], msg });
  }
}
