const GIVEN_NAME = /\b[Mm]y name is\s+(\p{L}[\p{L}'-]*(?:\s+\p{Lu}[\p{L}'-]+)?)/u;
/** Much else follows these words, so the name must look like one. */
const NAME = /(?:\b[Tt]his is|\bI am|\bI'm)\s+(\p{Lu}[\p{L}'-]+(?:\s+\p{Lu}[\p{L}'-]+)?)/u;
const COMPANY =
  /(?:\b[Ii] work (?:for|at)|\bcalling from|\b[Ff]rom the company)\s+((?:[A-Z][\p{L}\d&'-]*)(?:\s+[A-Z][\p{L}\d&'-]*){0,2})/u;
const EMAIL = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/;
const PHONE = /\+?\d[\d ()-]{6,18}\d/;

const NOT_INTERESTED = /not interested|no,? thank(?:s| you)|don't (?:want|need)|do not (?:want|need)/i;
const DO_NOT_CALL = /(?:don't|do not|stop|never) call(?:ing)?(?: me)?|remove (?:me|my number)/i;
const FOLLOW_UP = /call (?:me )?(?:back|later|again)|next week|tomorrow|another time|think about it/i;
const CONVERTED =
  /\bi(?:'ll| will) (?:take|buy|book) it|\bbook (?:it|me|the)|\bplease book|\bi(?:'d| would) like to book/i;
const INTERESTED =
  /\binterested\b|tell me more|how much|sounds good|\bi(?:'d| would) like|\bi want\b|\bi need\b/i;

/**
 * What a caller left of themselves in a conversation, by plain patterns (English): a stand-in for what a language
 * model would understand, good enough to see the way of the data. Field names are those of the call-ended webhook;
 * the fields a schema does not ask for are dropped later.
 * @param transcript the text of the prompt in which the conversation stands
 */
export function leadFromTranscript(transcript: string): Record<string, unknown> {
  const lines = transcript
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
  const callerLines = lines
    .map((line) => /^(?:\W*)(?:caller|user|customer)\b[^:]{0,20}:\s*(.*)$/i.exec(line)?.[1])
    .filter((line) => line !== undefined);
  const said = callerLines.length > 0 ? callerLines.join('\n') : transcript;
  const [status, temperature, score, next] = judge(said);
  const summary = summarize(callerLines.length > 0 ? callerLines : lines);
  const found = GIVEN_NAME.exec(said) ?? NAME.exec(said);
  const name = found?.[1]?.replace(/^\p{L}/u, (letter) => letter.toUpperCase()) ?? null;
  const phone = PHONE.exec(said)?.[0].replace(/[ ()-]/g, '') ?? null;
  return {
    customer_name: name,
    user_name: name,
    name,
    company_name: COMPANY.exec(said)?.[1] ?? null,
    lead_source: null,
    mobile_number: phone,
    phone_number: phone,
    email: EMAIL.exec(said)?.[0] ?? null,
    lead_status: status,
    lead_temperature: temperature,
    lead_score: score,
    ai_summary: summary,
    call_summary: summary,
    summary,
    next_action: next,
    next_follow_up_date: null,
    crm_stage: null,
    send_whatsapp: /whats\s?app/i.test(said),
    send_email: /\be-?mail me\b|send (?:me )?an e-?mail|by e-?mail/i.test(said),
    reminder_to_sales_team: status === 'interested' || status === 'follow_up',
  };
}

function judge(
  said: string,
): [status: string, temperature: string | null, score: number, next: string | null] {
  if (DO_NOT_CALL.test(said)) return ['do_not_call', 'cold', 0, null];
  if (NOT_INTERESTED.test(said)) return ['not_interested', 'cold', 10, null];
  if (CONVERTED.test(said)) return ['converted', 'hot', 95, 'Confirm the booking.'];
  if (FOLLOW_UP.test(said)) return ['follow_up', 'warm', 60, 'Call back as agreed.'];
  if (INTERESTED.test(said)) return ['interested', 'warm', 70, 'Send the details that were asked for.'];
  return ['unknown', null, 30, null];
}

function summarize(lines: readonly string[]): string {
  const all = lines.join(' ').replace(/\s+/g, ' ');
  return `Emulated analysis. The caller said: ${all.length > 240 ? `${all.slice(0, 240)}…` : all}`;
}
