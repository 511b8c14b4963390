import { parametersOf } from '../app-descriptor.ts';
import type { AppDescriptor } from '../app-descriptor.ts';

const contact = {
  email: { type: 'string', minLength: 3, description: 'E-mail address.' },
  first_name: { type: 'string', description: 'First name.' },
  last_name: { type: 'string', description: 'Last name.' },
  phone: { type: 'string', description: 'Phone number.' },
  company: { type: 'string', description: 'Company.' },
} as const;
const contactProperties = {
  email: '{email}',
  firstname: '{first_name}',
  lastname: '{last_name}',
  phone: '{phone}',
  company: '{company}',
} as const;

/** @see https://developers.hubspot.com/docs/api-reference/overview */
export const hubSpot = {
  name: 'HubSpot',
  variable: 'HUBSPOT',
  auth: {
    type: 'oauth2',
    issuer: 'https://app.hubspot.com',
    authorizeUrl: 'https://app.hubspot.com/oauth/authorize',
    tokenUrl: 'https://api.hubapi.com/oauth/2026-03/token',
    revokeUrl: 'https://api.hubapi.com/oauth/2026-03/token/revoke',
    scopes: ['oauth', 'crm.objects.contacts.read', 'crm.objects.contacts.write', 'crm.objects.deals.write'],
  },
  apiUrl: 'https://api.hubapi.com',
  account: { request: { method: 'GET', path: '/account-info/v3/details' }, label: 'portalId' },
  actions: [
    {
      action: 'find_contacts',
      description: 'Finds contacts by a name, an e-mail address or a phone number.',
      parameters: parametersOf(
        { text: { type: 'string', minLength: 1, maxLength: 200, description: 'What is looked for.' } },
        ['text'],
      ),
      request: {
        method: 'POST',
        path: '/crm/v3/objects/contacts/search',
        body: {
          query: '{text}',
          limit: 5,
          properties: ['email', 'firstname', 'lastname', 'phone', 'company'],
        },
      },
    },
    {
      action: 'create_contact',
      description: 'Adds a contact.',
      parameters: parametersOf(contact, ['email']),
      request: { method: 'POST', path: '/crm/v3/objects/contacts', body: { properties: contactProperties } },
    },
    {
      action: 'update_contact',
      description: 'Changes a contact.',
      parameters: parametersOf(
        { contact_id: { type: 'string', minLength: 1, description: 'Id of the contact.' }, ...contact },
        ['contact_id'],
      ),
      request: {
        method: 'PATCH',
        path: '/crm/v3/objects/contacts/{contact_id}',
        body: { properties: contactProperties },
      },
    },
    {
      action: 'create_deal',
      description: 'Adds a deal.',
      parameters: parametersOf(
        {
          name: { type: 'string', minLength: 1, description: 'Name of the deal.' },
          amount: { type: 'number', minimum: 0, description: 'What it is worth.' },
          stage: { type: 'string', minLength: 1, description: 'Id of its stage.' },
          pipeline: { type: 'string', description: 'Id of its pipeline; the main one without it.' },
        },
        ['name', 'stage'],
      ),
      request: {
        method: 'POST',
        path: '/crm/v3/objects/deals',
        body: {
          properties: {
            dealname: '{name}',
            amount: '{amount}',
            dealstage: '{stage}',
            pipeline: '{pipeline|default}',
          },
        },
      },
    },
  ],
} as const satisfies AppDescriptor;
