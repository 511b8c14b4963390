import { z } from 'zod';
import { MAX_CSV_ROWS } from '../csv-imports/csv-upload.ts';
import { importQuery, MAX_ROWS_AT_ONCE } from '../csv-imports/people-file.ts';
import { nameQuery } from '../composition/name-words.ts';
import { anyOf, listOf, listQuery, toPage } from '../http/list-query.ts';
import { importResponse, toImportResponse } from '../imports/import-response.ts';
import { defineOperation, HttpResponse, jsonBody, patchBody, streamBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import { inProject, item } from '../tenancy/target.ts';
import type { Target } from '../tenancy/target.ts';
import type { RecipientImports } from './recipient-imports.ts';
import { RECIPIENT_STATUSES, recipientCollection, recipientListCollection } from './recipient-list-model.ts';
import {
  addedRecipientsResponse,
  addRecipientsRequest,
  createRecipientListRequest,
  importedRecipientsResponse,
  importRecipientsRequest,
  patchRecipientListRequest,
  patchRecipientRequest,
  RECIPIENT_LIST_READ_ONLY,
  RECIPIENT_READ_ONLY,
  recipientListResponse,
  recipientResponse,
  toRecipientListResponse,
  toRecipientResponse,
} from './recipient-list-schema.ts';
import type { RecipientListService } from './recipient-list-service.ts';

const list = item(recipientListCollection, 'list_id');
/** Every project adds to the list of its org. */
const writableList = open(recipientListCollection, 'list_id');
const recipient = open(recipientCollection, 'recipient_id');
const tag = 'Recipient lists';
const feature = 'recipient_lists';
const READ = { key: 'viewer', user: 'viewer' } as const;
const WRITE = { key: 'editor', user: 'editor' } as const;

export function recipientListRoutes({
  lists,
  imports,
  publicUrl,
}: {
  lists: RecipientListService;
  imports: RecipientImports;
  publicUrl: string;
}): Operation[] {
  return [
    defineOperation({
      id: 'listRecipientLists',
      method: 'GET',
      path: '/v1/orgs/{org_id}/projects/{project_id}/recipient-lists',
      tag,
      feature,
      summary: 'List recipient lists',
      description: "Those of the project, and the org's do-not-call list.",
      access: READ,
      target: inProject,
      query: listQuery({ sortable: ['name'], q: true }),
      responses: { 200: { description: 'A page of lists', schema: listOf(recipientListResponse) } },
      handle: async ({ scope, query }) => toPage(await lists.list(scope, query), toRecipientListResponse),
    }),
    defineOperation({
      id: 'createRecipientList',
      method: 'POST',
      path: '/v1/orgs/{org_id}/projects/{project_id}/recipient-lists',
      tag,
      feature,
      summary: 'Create a recipient list',
      access: WRITE,
      target: inProject,
      body: jsonBody(createRecipientListRequest, { readOnly: RECIPIENT_LIST_READ_ONLY }),
      responses: { 201: { description: 'The list', schema: recipientListResponse } },
      idempotent: {},
      handle: async ({ scope, body }) => toRecipientListResponse(await lists.create(scope, body)),
    }),
    defineOperation({
      id: 'getRecipientList',
      method: 'GET',
      path: '/v1/recipient-lists/{list_id}',
      tag,
      feature,
      summary: 'Get a recipient list',
      access: READ,
      target: list,
      responses: { 200: { description: 'The list', schema: recipientListResponse } },
      handle: async ({ item: found }) => toRecipientListResponse(await lists.counted(found)),
    }),
    defineOperation({
      id: 'updateRecipientList',
      method: 'PATCH',
      path: '/v1/recipient-lists/{list_id}',
      tag,
      feature,
      summary: 'Rename a recipient list',
      access: WRITE,
      target: list,
      body: patchBody(patchRecipientListRequest, { readOnly: [...RECIPIENT_LIST_READ_ONLY, 'kind'] }),
      responses: { 200: { description: 'The list', schema: recipientListResponse } },
      errors: [409],
      handle: async ({ scope, item: found, body }) =>
        toRecipientListResponse(await lists.update(scope, found, body)),
    }),
    defineOperation({
      id: 'deleteRecipientList',
      method: 'DELETE',
      path: '/v1/recipient-lists/{list_id}',
      tag,
      feature,
      summary: 'Delete a recipient list',
      description:
        "Its numbers go with it. The org's do-not-call list stays, and so does a list that a running campaign calls.",
      access: WRITE,
      target: list,
      responses: { 204: { description: 'Deleted' } },
      errors: [409],
      handle: ({ scope, item: found, caller, address }) => lists.delete(scope, found, { caller, address }),
    }),
    defineOperation({
      id: 'listRecipients',
      method: 'GET',
      path: '/v1/recipient-lists/{list_id}/recipients',
      tag,
      feature,
      summary: 'List the numbers of a list',
      access: READ,
      target: list,
      query: listQuery({
        filters: {
          q: nameQuery,
          status: anyOf(z.enum(RECIPIENT_STATUSES)).optional(),
          phone_number: anyOf(z.string().min(1).max(64)).optional(),
          external_id: anyOf(z.string().min(1).max(200)).optional(),
        },
      }),
      responses: { 200: { description: 'A page of numbers', schema: listOf(recipientResponse) } },
      handle: async ({ scope, item: found, query }) =>
        toPage(await lists.recipients(scope, found, query), toRecipientResponse),
    }),
    defineOperation({
      id: 'addRecipients',
      method: 'POST',
      path: '/v1/recipient-lists/{list_id}/recipients',
      tag,
      feature,
      summary: 'Add numbers to a list',
      access: WRITE,
      target: writableList,
      body: jsonBody(addRecipientsRequest),
      responses: { 201: { description: 'How many', schema: addedRecipientsResponse } },
      idempotent: {},
      handle: ({ scope, item: found, caller, body }) => lists.add(scope, found, caller, body),
    }),
    defineOperation({
      id: 'importRecipients',
      method: 'POST',
      path: '/v1/recipient-lists/{list_id}/import',
      tag,
      feature,
      summary: 'Import numbers into a list',
      description:
        `A CSV file (UTF-8, or UTF-16 with a byte order mark; comma, semicolon or tab) of at most 20 MiB and ${MAX_CSV_ROWS} rows; ` +
        `more than ${MAX_ROWS_AT_ONCE} with \`async\` alone. ` +
        'The number is in the first column called `phone_number`, `phone`, `mobile`, `number` or `contact_number`; `name`, ' +
        '`external_id` and `timezone` go by their names; every other column is a variable, its header in lower case with `_` ' +
        'for what is no letter or digit. In a list of recipients a number that cannot be dialled is kept as `invalid`; in a ' +
        'suppression list it is an error, and of the variables only `reason` is kept.',
      access: WRITE,
      target: writableList,
      query: importQuery,
      body: streamBody({ contentTypes: ['multipart/form-data'], described: importRecipientsRequest }),
      responses: {
        200: { description: 'What became of the rows', schema: importedRecipientsResponse },
        202: { description: 'The import, where `async` was asked for', schema: importResponse },
      },
      errors: [400, 409],
      handle: async ({ scope, item: found, caller, query, body }) =>
        query.async === true
          ? new HttpResponse(
              202,
              toImportResponse(await imports.begin(scope, found, caller, body), publicUrl),
            )
          : imports.import(found, caller, body),
    }),
    defineOperation({
      id: 'exportRecipients',
      method: 'GET',
      path: '/v1/recipient-lists/{list_id}/export',
      tag,
      feature,
      summary: 'Export a list as CSV',
      access: READ,
      target: list,
      responses: {
        200: { description: 'One line for each number, after the header', contentType: 'text/csv' },
      },
      handle: async ({ scope, item: found, caller, address }) =>
        new HttpResponse(200, await lists.export(scope, found, { caller, address }), {
          'Content-Type': 'text/csv; charset=utf-8',
          'Content-Disposition': `attachment; filename="${found._id}.csv"`,
        }),
    }),
    defineOperation({
      id: 'updateRecipient',
      method: 'PATCH',
      path: '/v1/recipients/{recipient_id}',
      tag,
      feature,
      summary: 'Update a number of a list',
      access: WRITE,
      target: recipient,
      body: patchBody(patchRecipientRequest, { readOnly: RECIPIENT_READ_ONLY }),
      responses: { 200: { description: 'The number', schema: recipientResponse } },
      handle: async ({ scope, item: found, body }) =>
        toRecipientResponse(await lists.updateRecipient(scope, found, body)),
    }),
    defineOperation({
      id: 'deleteRecipient',
      method: 'DELETE',
      path: '/v1/recipients/{recipient_id}',
      tag,
      feature,
      summary: 'Remove a number from a list',
      description: "From the org's do-not-call list only a signed-in admin may remove one.",
      access: WRITE,
      target: recipient,
      responses: { 204: { description: 'Removed' } },
      handle: ({ scope, item: found, caller, address }) => lists.remove(scope, found, { caller, address }),
    }),
  ];
}

/** A record that every project of its org may write to. */
function open<T extends StoredRecord>(collection: Collection<T>, parameter: string): Target<T> {
  const target = item(collection, parameter);
  return {
    ...target,
    async resolve(access, request) {
      return { ...(await target.resolve(access, request)), readOnly: false };
    },
  };
}
