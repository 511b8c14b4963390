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

/** Begins the `client_state` of a call that is treated, and that of the leg it is sent on to. */
const TREATED = 'treated:';
const LEG_OF = 'leg-of:';

/** The command that follows a step; an id of the command that is its own makes a repeated webhook harmless. */
export function treatmentCommand(
  carrierCallId: string,
  { say, forward, state }: CallTreatment,
  done: TreatmentStep | null,
): { name: string; body: object } {
  const command = (step: string) => ({
    client_state: base64(`${TREATED}${state}`),
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
        target_leg_client_state: base64(`${LEG_OF}${carrierCallId} ${state}`),
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
  payload: { call_control_id: string; client_state?: string | null | undefined },
): { carrierCallId: string; step: TreatmentStep; state: string } | undefined {
  const text = Buffer.from(payload.client_state ?? '', 'base64').toString('utf8');
  if (text.startsWith(LEG_OF) && type === 'call.hangup') {
    const [carrierCallId = '', state = ''] = text.slice(LEG_OF.length).split(' ');
    return { carrierCallId, step: 'forwarded', state };
  }
  const step = STEPS[type];
  if (!text.startsWith(TREATED) || !step) return undefined;
  return { carrierCallId: payload.call_control_id, step, state: text.slice(TREATED.length) };
}

const STEPS: Readonly<Record<string, TreatmentStep>> = {
  'call.answered': 'answered',
  'call.speak.ended': 'said',
};

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
