import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import { RecipientImports } from './recipient-imports.ts';
import { recipientCollection, recipientListCollection } from './recipient-list-model.ts';
import { recipientListRoutes } from './recipient-list-routes.ts';
import { recipientListSample } from './recipient-list-sample.ts';
import { RECIPIENT_LIST_AUDIT, RecipientListService } from './recipient-list-service.ts';
import type { ListUses } from './recipient-list-service.ts';
import { Suppressions } from './suppressions.ts';

export function createRecipientLists(
  deps: Pick<Platform, 'audit' | 'clock' | 'database'> & {
    uses: ListUses;
  },
) {
  const suppressions = new Suppressions(deps);
  const lists = new RecipientListService({ ...deps, suppressions });
  const imports = new RecipientImports({ ...deps, lists });
  return {
    ...{ suppressions, recipientLists: lists },
    collections: [recipientListCollection, recipientCollection],
    routes: recipientListRoutes({ lists, imports }),
    parameters: { list_id: idSchema('rcl'), recipient_id: idSchema('rcp') },
    flags: [{ key: 'recipient_lists', description: 'Recipient lists' }],
    audit: RECIPIENT_LIST_AUDIT,
    samples: [recipientListSample],
  } satisfies Feature & { suppressions: Suppressions };
}
