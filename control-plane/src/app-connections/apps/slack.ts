import { parametersOf } from '../app-descriptor.ts';
import type { AppDescriptor } from '../app-descriptor.ts';

/**
 * A bot in a Slack workspace. Its token ends only where the app has token rotation switched on.
 * @see https://docs.slack.dev/authentication/installing-with-oauth
 */
export const slack = {
  name: 'Slack',
  variable: 'SLACK',
  auth: {
    type: 'oauth2',
    issuer: 'https://slack.com',
    authorizeUrl: 'https://slack.com/oauth/v2/authorize',
    tokenUrl: 'https://slack.com/api/oauth.v2.access',
    revokeUrl: 'https://slack.com/api/auth.revoke',
    scopes: ['chat:write', 'users:read', 'users:read.email'],
    scopeSeparator: ',',
    tokenTypes: ['bot'],
    revokes: 'access_token',
  },
  apiUrl: 'https://slack.com/api',
  failures: {
    unauthorized: ['invalid_auth', 'not_authed', 'account_inactive', 'token_revoked', 'token_expired'],
  },
  account: { request: { method: 'GET', path: '/auth.test' }, label: 'team' },
  actions: [
    {
      action: 'post_message',
      description: 'Writes a message into a channel.',
      parameters: parametersOf(
        {
          channel: { type: 'string', minLength: 1, description: 'Id or name of the channel.' },
          text: { type: 'string', minLength: 1, maxLength: 4000, description: 'What it says.' },
        },
        ['channel', 'text'],
      ),
      request: {
        method: 'POST',
        path: '/chat.postMessage',
        body: { channel: '{channel}', text: '{text}' },
      },
    },
    {
      action: 'find_user',
      description: 'Finds a person of the workspace by an e-mail address.',
      parameters: parametersOf(
        { email: { type: 'string', minLength: 3, description: 'E-mail address of the person.' } },
        ['email'],
      ),
      request: { method: 'GET', path: '/users.lookupByEmail', query: { email: '{email}' } },
    },
  ],
} as const satisfies AppDescriptor;
