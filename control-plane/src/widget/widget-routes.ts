import { defineOperation, jsonBody, HttpResponse } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { startWidgetSessionRequest, widgetSessionResponse } from './widget-schema.ts';
import type { SessionCredentials } from '../sessions/session-credentials.ts';
import type { WidgetService } from './widget-service.ts';

export function widgetRoutes({
  widget,
  sessionCredentials,
}: {
  widget: WidgetService;
  sessionCredentials: Pick<SessionCredentials, 'addresses'>;
}): Operation[] {
  return [
    defineOperation({
      id: 'startWidgetSession',
      method: 'POST',
      path: '/public/v1/agents/{agent_id}/sessions',
      tag: 'Realtime',
      summary: 'Start a session from a public page',
      description:
        'For browsers, without a credential, from the origins in `config.widget` of the agent. The token opens one ' +
        'connection, from that origin only. At most five sessions a minute and three at a time from one address, ten minutes each; ' +
        'at most `config.widget.daily_sessions` a day (UTC).',
      access: 'public',
      admit: ({ params, headers, address }) =>
        widget.admit({ agentId: params.agent_id, origin: headers.origin, address }),
      body: jsonBody(startWidgetSessionRequest, { optional: true }),
      responses: {
        200: { description: 'The token, valid for one connection', schema: widgetSessionResponse },
      },
      errors: [402, 403],
      handle: async ({ params, headers, address, body }) => {
        const visitor = { agentId: params.agent_id, origin: headers.origin, address };
        const { session, token, expiresAt, title } = await widget.start(visitor, body.variables ?? {});
        const { input_format, output_format } = session.audio!;
        return new HttpResponse(
          200,
          {
            session_id: session._id,
            ws_url: sessionCredentials.addresses.realtimeWsUrl,
            token,
            expires_at: expiresAt.toISOString(),
            agent_id: params.agent_id,
            input_format,
            output_format,
            title,
          },
          { 'Cache-Control': 'no-store' },
        );
      },
    }),
  ];
}
