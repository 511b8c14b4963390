import { z } from 'zod';
import { listOf, listQuery, queryInteger, toPage } from '../http/list-query.ts';
import { defineOperation, HttpResponse, jsonBody, patchBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { pageOf } from '../storage/memory-page.ts';
import { inOrg, item } from '../tenancy/target.ts';
import { CALLBACK_PATH } from './app-authorizations.ts';
import type { AppAuthorizations } from './app-authorizations.ts';
import { callbackPage } from './app-callback-page.ts';
import { APP_NAMES } from './app-catalog.ts';
import { appConnectionCollection } from './app-connection-model.ts';
import {
  appConnectionResponse,
  appResponse,
  CONNECTION_FIXED,
  CONNECTION_READ_ONLY,
  createAppConnectionRequest,
  patchAppConnectionRequest,
  reconnectAppRequest,
  startedConnectionResponse,
  toAppResponse,
  toConnectionResponse,
} from './app-connection-schema.ts';
import type { AppConnectionService, StartedConnection } from './app-connection-service.ts';
import type { AppVendors } from './app-vendors.ts';

const feature = 'app_connections';
const tag = 'App connections';
const VIEWERS = { key: 'viewer', user: 'viewer' } as const;
const ADMIN = { user: 'admin' } as const;
const connection = item(appConnectionCollection, 'connection_id');

/** The page holds nothing but text and a link, and loads nothing. */
const PAGE_HEADERS = { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' };

const toStarted = ({ connection: record, authorizeUrl }: StartedConnection) => ({
  ...toConnectionResponse(record),
  authorize_url: authorizeUrl,
});

export function appConnectionRoutes({
  connections,
  authorizations,
  vendors,
  consoleUrl,
}: {
  connections: AppConnectionService;
  authorizations: AppAuthorizations;
  vendors: AppVendors;
  /** Undefined: the installation has no console. */
  consoleUrl: string | undefined;
}): Operation[] {
  return [
    defineOperation({
      id: 'listApps',
      method: 'GET',
      path: '/v1/app-catalog',
      tag,
      summary: 'List apps that tools can be backed by',
      access: VIEWERS,
      query: z.object({
        limit: queryInteger(1, 200).default(50),
        offset: queryInteger(0, 100_000).default(0),
      }),
      responses: { 200: { description: 'Apps and their actions', schema: listOf(appResponse) } },
      handle: ({ query }) => toPage(pageOf(APP_NAMES, query), (app) => toAppResponse(vendors.get(app))),
    }),
    defineOperation({
      id: 'listAppConnections',
      method: 'GET',
      path: '/v1/orgs/{org_id}/app-connections',
      tag,
      feature,
      summary: 'List app connections',
      access: VIEWERS,
      target: inOrg,
      query: listQuery({ sortable: ['name'], q: true }),
      responses: { 200: { description: 'A page of connections', schema: listOf(appConnectionResponse) } },
      handle: async ({ scope, query }) => toPage(await connections.list(scope, query), toConnectionResponse),
    }),
    defineOperation({
      id: 'createAppConnection',
      method: 'POST',
      path: '/v1/orgs/{org_id}/app-connections',
      tag,
      feature,
      summary: 'Connect an app',
      description:
        'With an API key it is connected at once, if the app takes the key. With OAuth it is `pending` until a person has agreed at `authorize_url`.',
      access: ADMIN,
      target: inOrg,
      body: jsonBody(createAppConnectionRequest, { readOnly: CONNECTION_READ_ONLY }),
      responses: { 201: { description: 'The connection', schema: startedConnectionResponse } },
      errors: [409, 502],
      idempotent: { secrets: ['authorize_url'] },
      handle: async ({ scope, caller, body, address, signal }) =>
        toStarted(await connections.create(scope, body, { caller, address, signal })),
    }),
    defineOperation({
      id: 'getAppConnection',
      method: 'GET',
      path: '/v1/app-connections/{connection_id}',
      tag,
      feature,
      summary: 'Get an app connection',
      access: VIEWERS,
      target: connection,
      responses: { 200: { description: 'The connection', schema: appConnectionResponse } },
      handle: ({ item: found }) => toConnectionResponse(found),
    }),
    defineOperation({
      id: 'updateAppConnection',
      method: 'PATCH',
      path: '/v1/app-connections/{connection_id}',
      tag,
      feature,
      summary: 'Rename an app connection',
      access: ADMIN,
      target: connection,
      body: patchBody(patchAppConnectionRequest, { readOnly: CONNECTION_FIXED }),
      responses: { 200: { description: 'The connection', schema: appConnectionResponse } },
      handle: async ({ scope, item: found, body }) =>
        toConnectionResponse(await connections.rename(scope, found, body.name)),
    }),
    defineOperation({
      id: 'deleteAppConnection',
      method: 'DELETE',
      path: '/v1/app-connections/{connection_id}',
      tag,
      feature,
      summary: 'Disconnect an app',
      description: 'Tokens are revoked at the vendor. Where it does not answer, it is asked again for a day.',
      access: ADMIN,
      target: connection,
      responses: { 204: { description: 'Deleted' } },
      errors: [409],
      handle: ({ scope, caller, item: found, address, signal }) =>
        connections.delete(scope, found, { caller, address, signal }),
    }),
    defineOperation({
      id: 'reconnectApp',
      method: 'POST',
      path: '/v1/app-connections/{connection_id}/reconnect',
      tag,
      feature,
      summary: 'Reconnect an app',
      description:
        'With OAuth, gives a new `authorize_url`, and the one before is no good any more; 409 while the app is connected. With an API key, takes another one.',
      access: ADMIN,
      target: connection,
      body: jsonBody(reconnectAppRequest, { optional: true }),
      responses: { 200: { description: 'The connection', schema: startedConnectionResponse } },
      errors: [409, 502],
      handle: async ({ scope, caller, item: found, body, address, signal }) =>
        toStarted(await connections.reconnect(scope, found, body, { caller, address, signal })),
    }),
    defineOperation({
      id: 'completeAppAuthorization',
      method: 'GET',
      path: CALLBACK_PATH,
      tag,
      summary: 'Return from an app after agreeing there',
      description:
        'Opened by the browser that the vendor sends back, with `state` and `code` or `error` (RFC 6749), and `iss` (RFC 9207) from some. Shows a page that leads on to the console.',
      access: 'public',
      responses: {
        200: { description: 'The app is connected', contentType: 'text/html' },
        400: { description: 'It is not, and the page says why', contentType: 'text/html' },
      },
      async handle({ url, address }) {
        const { searchParams } = new URL(url, 'http://callback');
        const outcome = await authorizations.complete(searchParams, { address });
        return new HttpResponse(
          outcome.connected ? 200 : 400,
          callbackPage(outcome, consoleUrl),
          PAGE_HEADERS,
        );
      },
    }),
  ];
}
