import type { CallTreatment, TreatmentStep } from '../carrier.ts';
import { nearestLanguage } from '../spoken-language.ts';

/** Languages of the command `speak`, by the vendor's SDK. */
const SPOKEN = [
  ...[
    'en-US',
    'en-GB',
    'en-AU',
    'en-IN',
    'arb',
    'cmn-CN',
    'cy-GB',
    'da-DK',
    'de-DE',
    'es-ES',
    'es-MX',
    'es-US',
  ],
  ...[
    'fr-FR',
    'fr-CA',
    'hi-IN',
    'is-IS',
    'it-IT',
    'ja-JP',
    'ko-KR',
    'nb-NO',
    'nl-NL',
    'pl-PL',
    'pt-BR',
    'pt-PT',
  ],
  ...['ro-RO', 'ru-RU', 'sv-SE', 'tr-TR'],
];

/** The `client_state` of a call that is treated, and the beginning of that of the leg it is sent on to. */
const TREATED = 'treated';
const LEG_OF = 'leg-of:';

/** The command that follows a step; an id of the command that is its own makes a repeated webhook harmless. */
export function treatmentCommand(
  carrierCallId: string,
  { say, forward }: CallTreatment,
  done: TreatmentStep | null,
): { name: string; body: object } {
  const command = (step: string) => ({
    client_state: base64(TREATED),
    command_id: `treatment-${step}`,
  });
  if (done === null) return { name: 'answer', body: command('answer') };
  if (done === 'answered' && say)
    return {
      name: 'speak',
      body: {
        ...command('say'),
        payload: say.text,
        payload_type: 'text',
        service_level: 'premium',
        voice: 'female',
        language: nearestLanguage(say.language, SPOKEN),
      },
    };
  if (done !== 'forwarded' && forward)
    return {
      name: 'transfer',
      body: {
        ...command('forward'),
        to: forward.to,
        from: forward.callerId,
        timeout_secs: forward.ringTimeoutSeconds,
        // When that leg is over, answered or not, nothing else ends the first one.
        target_leg_client_state: base64(`${LEG_OF}${carrierCallId}`),
      },
    };
  return { name: 'hangup', body: {} };
}

/**
 * What an event says of a treatment.
 * @param type of the event, with dots
 * @returns undefined for events of other calls
 */
export function treatmentStep(
  type: string,
  payload: {
    call_control_id: string;
    client_state?: string | null | undefined;
    hangup_cause?: string | undefined;
  },
): { carrierCallId: string; step: TreatmentStep; cause: string | null } | undefined {
  const text = Buffer.from(payload.client_state ?? '', 'base64').toString('utf8');
  const cause = payload.hangup_cause ?? null;
  if (text.startsWith(LEG_OF)) {
    const step = LEG_STEPS[type];
    return step && { carrierCallId: text.slice(LEG_OF.length), step, cause };
  }
  const step = STEPS[type];
  return text === TREATED && step ? { carrierCallId: payload.call_control_id, step, cause } : undefined;
}

const STEPS: Readonly<Record<string, TreatmentStep>> = {
  'call.answered': 'answered',
  'call.speak.ended': 'said',
};

const LEG_STEPS: Readonly<Record<string, TreatmentStep>> = {
  'call.answered': 'forward_answered',
  'call.hangup': 'forwarded',
};

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
