import { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { NotFoundError } from '@parley/shared/errors/app-error';
import { MAX_CSV_ROWS } from '../csv-imports/csv-upload.ts';
import { importQuery, MAX_ROWS_AT_ONCE } from '../csv-imports/people-file.ts';
import { importResponse, toImportResponse } from '../imports/import-response.ts';
import { invalid } from '../http/validation.ts';
import { textStream } from '../exports/text-stream.ts';
import { nameQuery } from '../composition/name-words.ts';
import { anyOf, listOf, listQuery, toPage } from '../http/list-query.ts';
import { defineOperation, HttpResponse, jsonBody, patchBody, streamBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { item } from '../tenancy/target.ts';
import { campaignTarget, READ, WRITE } from './campaign-routes.ts';
import type { CampaignAudit } from './campaign-routes.ts';
import { contactCollection } from './contact-model.ts';
import {
  addContactsRequest,
  addedContactsResponse,
  attemptResponse,
  CONTACT_READ_ONLY,
  contactResponse,
  contactStatus,
  e164,
  goalStatus,
  importContactsFile,
  importContactsList,
  importedContactsResponse,
  patchContactRequest,
  toAttemptResponse,
  toContactResponse,
} from './contact-schema.ts';
import { contactLines } from './contact-export.ts';
import type { ContactImports } from './contact-imports.ts';
import type { ContactService } from './contact-service.ts';

const contactTarget = item(contactCollection, 'contact_id');
const tag = 'Campaigns';
const feature = 'campaigns';

export function contactRoutes({
  contacts,
  imports,
  publicUrl,
  audit,
}: {
  contacts: ContactService;
  imports: ContactImports;
  publicUrl: string;
  audit: CampaignAudit;
}): Operation[] {
  return [
    defineOperation({
      id: 'listCampaignContacts',
      method: 'GET',
      path: '/v1/campaigns/{campaign_id}/contacts',
      ...{ tag, feature },
      summary: 'List contacts of a campaign',
      access: READ,
      target: campaignTarget,
      query: listQuery({
        filters: {
          q: nameQuery,
          status: anyOf(contactStatus).optional(),
          outcome: anyOf(z.string().min(1).max(64))
            .optional()
            .meta({ description: 'Only those whose last attempt came to this; several: to one of these.' }),
          goal_status: anyOf(goalStatus).optional().meta({
            description: 'Only those whose last call reached the goal so; several: in one of these ways.',
          }),
          phone_number: anyOf(e164)
            .optional()
            .meta({ description: 'Only those with this number (E.164); several: with one of them.' }),
        },
      }),
      responses: { 200: { description: 'A page of contacts', schema: listOf(contactResponse) } },
      handle: async ({ scope, item: campaign, query }) =>
        toPage(await contacts.list(scope, campaign, query), toContactResponse),
    }),
    defineOperation({
      id: 'addCampaignContacts',
      method: 'POST',
      path: '/v1/campaigns/{campaign_id}/contacts',
      ...{ tag, feature },
      summary: 'Add contacts to a campaign',
      description: 'Also while it runs. Those that are skipped are not stored.',
      access: WRITE,
      target: campaignTarget,
      body: jsonBody(addContactsRequest),
      responses: { 201: { description: 'How many, and who is none', schema: addedContactsResponse } },
      errors: [409],
      idempotent: {},
      handle: ({ item: campaign, body }) => contacts.add(campaign, body.contacts),
    }),
    defineOperation({
      id: 'importCampaignContacts',
      method: 'POST',
      path: '/v1/campaigns/{campaign_id}/contacts/import',
      ...{ tag, feature },
      summary: 'Import contacts into a campaign',
      description:
        `A CSV file (UTF-8, or UTF-16 with a byte order mark; comma, semicolon or tab) of at most 20 MiB and ${MAX_CSV_ROWS} rows ` +
        `(more than ${MAX_ROWS_AT_ONCE} with \`async\` alone), or a recipient list. ` +
        'The number is in the first column called `phone_number`, `phone`, `mobile`, `number` or ' +
        '`contact_number`; `name`, `external_id` and `timezone` go by their names; every other column is a variable, its ' +
        'header in lower case with `_` for what is no letter or digit.',
      access: WRITE,
      target: campaignTarget,
      body: [
        streamBody({ contentTypes: ['multipart/form-data'], described: importContactsFile }),
        jsonBody(importContactsList),
      ],
      query: importQuery,
      responses: {
        200: { description: 'What became of the rows', schema: importedContactsResponse },
        202: { description: 'The import, where `async` was asked for', schema: importResponse },
      },
      errors: [400, 409],
      handle: async ({ scope, item: campaign, caller, query, body }) => {
        if (query.async !== true)
          return body instanceof IncomingMessage
            ? imports.fromFile(campaign, body)
            : imports.fromList(scope, campaign, body.recipient_list_id);
        if (!(body instanceof IncomingMessage))
          throw invalid(['query', 'async'], 'A list is imported before the answer', 'not_available');
        const begun = await imports.begin(scope, campaign, caller, body);
        return new HttpResponse(202, toImportResponse(begun, publicUrl));
      },
    }),
    defineOperation({
      id: 'exportCampaign',
      method: 'GET',
      path: '/v1/campaigns/{campaign_id}/export',
      ...{ tag, feature },
      summary: 'Export the contacts of a campaign as CSV',
      description:
        'One line for each contact, after the header: RFC 4180, UTF-8 with a byte order mark. Texts that a spreadsheet would run ' +
        'begin with an apostrophe.',
      access: READ,
      target: campaignTarget,
      responses: { 200: { description: 'The contacts', contentType: 'text/csv' } },
      handle: async ({ scope, item: campaign, caller, address, signal }) => {
        await audit.record({ scope, caller, address, action: 'campaign.exported', target: campaign._id });
        return new HttpResponse(200, textStream(contactLines(scope, campaign), signal), {
          'Content-Type': 'text/csv; charset=utf-8',
          'Content-Disposition': `attachment; filename="${campaign._id}.csv"`,
          'Cache-Control': 'no-store',
        });
      },
    }),
    defineOperation({
      id: 'getCampaignContact',
      method: 'GET',
      path: '/v1/campaign-contacts/{contact_id}',
      ...{ tag, feature },
      summary: 'Get a contact',
      access: READ,
      target: contactTarget,
      responses: { 200: { description: 'The contact', schema: contactResponse } },
      handle: ({ item: contact }) => {
        // It is only being counted yet.
        if (contact.removed) throw new NotFoundError();
        return toContactResponse(contact);
      },
    }),
    defineOperation({
      id: 'updateCampaignContact',
      method: 'PATCH',
      path: '/v1/campaign-contacts/{contact_id}',
      ...{ tag, feature },
      summary: 'Update a contact',
      description: 'While it is `pending` or `waiting_retry`.',
      access: WRITE,
      target: contactTarget,
      body: patchBody(patchContactRequest, { readOnly: CONTACT_READ_ONLY }),
      responses: { 200: { description: 'The contact', schema: contactResponse } },
      errors: [409],
      handle: async ({ scope, item: contact, body }) =>
        toContactResponse(await contacts.change(scope, contact, body)),
    }),
    defineOperation({
      id: 'deleteCampaignContact',
      method: 'DELETE',
      path: '/v1/campaign-contacts/{contact_id}',
      ...{ tag, feature },
      summary: 'Delete a contact',
      description: 'While it is `pending` or `waiting_retry`.',
      access: WRITE,
      target: contactTarget,
      responses: { 204: { description: 'Deleted' } },
      errors: [409],
      handle: ({ item: contact }) => contacts.delete(contact),
    }),
    defineOperation({
      id: 'listCampaignContactAttempts',
      method: 'GET',
      path: '/v1/campaign-contacts/{contact_id}/attempts',
      ...{ tag, feature },
      summary: 'List the attempts to call a contact',
      access: READ,
      target: contactTarget,
      query: listQuery(),
      responses: { 200: { description: 'A page of attempts', schema: listOf(attemptResponse) } },
      handle: async ({ scope, item: contact, query }) =>
        toPage(await contacts.attempts(scope, contact, query), toAttemptResponse),
    }),
  ];
}
