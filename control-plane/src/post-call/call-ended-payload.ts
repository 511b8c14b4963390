import type { SessionRecord } from '../sessions/session-record.ts';
import type { AnalysisResultRecord } from './analysis-result-model.ts';
import { EMPTY_LEAD, type LeadAnalysis } from './lead-analysis.ts';

/** The body of the call-ended webhook: lead analysis, session metadata, and every analysis row that is done (pure). */
export function toCallEndedPayload(facts: {
  session: SessionRecord;
  lead: LeadAnalysis | null;
  rows: readonly AnalysisResultRecord[];
  recordingUrl: string | null;
}) {
  const { session, recordingUrl } = facts;
  const lead = facts.lead ?? EMPTY_LEAD;
  const rows = facts.rows.filter((row) => row.status === 'done').map(toRow);
  const mobile = lead.mobile_number ?? farEnd(session);
  return {
    customer_name: lead.customer_name,
    mobile_number: mobile,
    email: lead.email,
    company_name: lead.company_name,
    lead_source: lead.lead_source,
    call_datetime: (session.started_at ?? session.created_at).toISOString(),
    call_duration: session.duration_seconds ?? 0,
    call_status: callStatus(session),
    recording_url: recordingUrl,
    call_direction: session.direction === 'outbound' ? 'outbound' : 'inbound',
    lead_status: lead.lead_status,
    lead_temperature: lead.lead_temperature,
    ai_summary: lead.ai_summary,
    lead_score: lead.lead_score,
    next_action: lead.next_action,
    next_follow_up_date: lead.next_follow_up_date,
    crm_stage: lead.crm_stage,
    send_whatsapp: lead.send_whatsapp ?? false,
    send_email: lead.send_email ?? false,
    reminder_to_sales_team: lead.reminder_to_sales_team ?? false,
    call_session_id: session._id,
    agent_id: session.agent_id,
    call_summary: lead.ai_summary,
    user_name: lead.customer_name,
    phone_number: mobile,
    call_id: session._id,
    post_call_analyses: rows,
    post_call_analysis_count: rows.length,
  };
}

export type CallEndedPayload = ReturnType<typeof toCallEndedPayload>;

/** The number at the far end of a phone call. */
function farEnd(session: SessionRecord): string | null {
  if (session.channel !== 'telephony') return null;
  return session.direction === 'outbound' ? session.to_number : session.from_number;
}

/** Open: other words may come. */
function callStatus(session: SessionRecord): string {
  const { failure_reason, hangup_reason, answered_by } = session;
  if (failure_reason === 'no_answer' || failure_reason === 'busy') return failure_reason;
  if (failure_reason !== null) return 'failed';
  if (hangup_reason === 'voicemail' || answered_by === 'voicemail') return 'voicemail';
  if (hangup_reason === 'transferred') return 'transferred';
  return 'completed';
}

/** Contents that are not there are left out. */
function toRow(row: AnalysisResultRecord) {
  return {
    rule_name: row.rule_name,
    source: row.source,
    ...(row.structured_json === null ? {} : { structured_json: row.structured_json }),
    ...(row.body_text === null ? {} : { body_text: row.body_text }),
    ...(row.tool_invocation === null ? {} : { tool_invocation: row.tool_invocation }),
  };
}
