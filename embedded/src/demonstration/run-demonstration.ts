import { styleText } from 'node:util';
import type { CallOrder } from './call-order.ts';
import type { DemonstrationPlatform } from './demonstration-platform.ts';
import { followCall } from './follow-call.ts';
import type { Write } from './print-conversation.ts';
import { CALLER_LINES } from './script.ts';

const STEPS: CallOrder['steps'] = [
  { say: CALLER_LINES.booking },
  { say: CALLER_LINES.day },
  { interrupt: CALLER_LINES.backchannel, after_ms: 5500 },
  { interrupt: CALLER_LINES.bargeIn, after_ms: 3500 },
  { say: CALLER_LINES.goodbye },
];

const WEBHOOK_WAIT_MS = 60_000;

/** Places the demonstration call the carrier's way, prints it as it happens, and shows what is left of it. */
export async function runDemonstration(
  running: DemonstrationPlatform,
  write: Write,
  signal: AbortSignal,
): Promise<void> {
  const { desk, demonstration, receivers, platform } = running;
  const line = demonstration.lines.plivo;
  if (!line) return;
  write('');
  write(
    styleText('bold', `A call comes in at ${line.number}`) +
      styleText('gray', ' (an emulated caller, on an emulated Plivo line)'),
  );
  write('');
  const placed = await desk.place({ carrier: 'plivo', to: line.number, steps: STEPS });
  const webhook = (sessionId: string) => receivers.delivery(sessionId, WEBHOOK_WAIT_MS);
  const result = await followCall({
    carrier: 'plivo',
    rest: demonstration.rest,
    projectId: demonstration.projectId,
    orgId: demonstration.orgId,
    placed,
    outcome: placed.outcome,
    write,
    signal,
  });
  const delivery = await webhook(result.session_id).catch(() => undefined);
  write('');
  if (delivery) {
    const { body } = delivery;
    write(
      styleText('bold', 'Call-ended webhook') +
        styleText(
          'gray',
          ` delivered (${delivery.id}), signature ${delivery.signed === null ? 'sent' : delivery.signed ? 'checked' : 'WRONG'}`,
        ),
    );
    for (const field of [
      'call_status',
      'call_duration',
      'customer_name',
      'lead_status',
      'lead_temperature',
      'ai_summary',
      'next_action',
    ]) {
      write(`  ${field.padEnd(18)}${String(body[field])}`);
    }
    write('');
  }
  write(styleText('bold', 'What the call left behind'));
  if (result.recording_path !== null)
    write(`  recording   ${platform.folder.file(result.recording_path)}   (caller left, agent right)`);
  const curl = (what: string, path: string, more = '') =>
    write(
      `  ${what.padEnd(12)}curl -s -H "Authorization: Bearer $PARLEY_API_KEY" '${platform.localUrl}${path}'${more}`,
    );
  curl('session', `/v1/sessions/${result.session_id}`);
  curl('transcript', `/v1/sessions/${result.session_id}/transcript?format=text`);
  curl('events', `/v1/sessions/${result.session_id}/events`);
  if (result.recording_id !== null)
    curl('audio', `/v1/recordings/${result.recording_id}/content`, ' -o call.wav');
  curl('webhook', `/v1/agents/${demonstration.agentId}/webhook-deliveries?session_id=${result.session_id}`);
  write(`  another call: npm run call -- --text "When do you close?"   (npm run call -- --help)`);
}
