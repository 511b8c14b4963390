import type { Feature } from '../composition/feature.ts';
import { peopleByNumber } from '../composition/number-search.ts';
import { namedRecords } from '../composition/search-source.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import type { ImportService } from '../imports/import-service.ts';
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
      peopleByNumber('recipient', recipientCollection, {
        ...{ list: 'listRecipients', prefix: 'rcp', parent: 'list_id' },
      }),
    ],
    routes: recipientListRoutes({ lists, imports: recipientImports, publicUrl: deps.config.PUBLIC_URL }),
    parameters: { list_id: idSchema('rcl'), recipient_id: idSchema('rcp') },
    flags: [{ key: 'recipient_lists', description: 'Recipient lists' }],
    audit: RECIPIENT_LIST_AUDIT,
    samples: [recipientListSample],
  } satisfies Feature & { suppressions: Suppressions };
}
