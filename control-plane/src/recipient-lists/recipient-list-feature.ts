import type { Feature } from '../composition/feature.ts';
import { nameWordsWork } from '../composition/name-words.ts';
import { peopleSearch } from '../composition/people-search.ts';
import type { Platform } from '../composition/platform.ts';
import { namedRecords } from '../composition/search-source.ts';
import { idSchema } from '../http/operation.ts';
import type { ImportService } from '../imports/import-service.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import { RecipientImports } from './recipient-imports.ts';
import { recipientCollection, recipientListCollection } from './recipient-list-model.ts';
import { recipientListRoutes } from './recipient-list-routes.ts';
import { recipientListSample } from './recipient-list-sample.ts';
import { RECIPIENT_LIST_AUDIT, RecipientListService } from './recipient-list-service.ts';
import type { ListUses } from './recipient-list-service.ts';
import { Suppressions } from './suppressions.ts';

export function createRecipientLists(
  deps: Pick<Platform, 'audit' | 'clock' | 'config' | 'database'> & {
    imports: Pick<ImportService, 'begin'>;
    uses: ListUses;
    /** All projects of orgs. */
    projects: Collection<StoredRecord & { org_id: string }>;
  },
) {
  const suppressions = new Suppressions(deps);
  const lists = new RecipientListService({ ...deps, suppressions });
  const recipientImports = new RecipientImports({ ...deps, lists });
  return {
    ...{ suppressions, recipientLists: lists, recipientImports },
    collections: [recipientListCollection, recipientCollection],
    searches: [
      namedRecords('recipient_list', recipientListCollection, { list: 'listRecipientLists' }),
      peopleSearch('recipient', recipientCollection, {
        ...{ list: 'listRecipients', prefix: 'rcp', parent: 'list_id', projects: deps.projects },
        numbersByOrg: true,
      }),
    ],
    routes: recipientListRoutes({ lists, imports: recipientImports, publicUrl: deps.config.PUBLIC_URL }),
    parameters: { list_id: idSchema('rcl'), recipient_id: idSchema('rcp') },
    flags: [{ key: 'recipient_lists', description: 'Recipient lists' }],
    audit: RECIPIENT_LIST_AUDIT,
    workers: [nameWordsWork(recipientCollection, { ...deps, name: 'names of recipients' })],
    samples: [recipientListSample],
  } satisfies Feature & { suppressions: Suppressions };
}
