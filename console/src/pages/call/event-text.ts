import { inWords } from '../../components/format.ts';
import { number, text } from './session-log.ts';
import type { LogEvent } from './session-log.ts';

interface EventText {
  title: string;
  tone: 'normal' | 'good' | 'bad';
  details: { name: string; value: string }[];
}

const ACTIONS: Readonly<Record<string, string>> = {
  stop: 'Agent fell silent to listen',
  interrupt: 'Caller interrupted: the agent stopped',
  ignore: 'Sound ignored: the agent went on',
  resume: 'Agent went on where it had stopped',
  wait: 'Agent waited for more',
  answer: 'Turn over: the agent answered',
  cut_in: 'Agent cut in',
};

const TRANSFER: Readonly<Record<string, string>> = {
  begun: 'Transfer begun',
  ringing: 'Transfer: ringing',
  briefing: 'Transfer: telling who answered of the caller',
  bridged: 'Transfer: connected',
  failed: 'Transfer failed',
};

const HANDOVER: Readonly<Record<string, string>> = {
  begun: 'Hand-over to another agent begun',
  done: 'Handed over to another agent',
  failed: 'Hand-over failed',
};

/** Why the agent took a turn, waited or stopped. */
const RULES: Readonly<Record<string, string>> = {
  stt_end: 'Speech-to-text heard the end of what was said',
  pause: 'The caller was silent long enough',
  too_long: 'The caller has spoken for very long',
  unfinished: 'The sentence sounds unfinished',
  dictating: 'The caller is dictating, and something is missing',
  sound: 'A sound on the line',
  voice: 'A voice was heard',
  near_voice: 'A voice close to the telephone was heard',
  lasting_voice: 'A voice was heard for some time',
  words: 'The caller said something',
  stop_phrase: 'The caller asked the agent to stop',
  answer: 'The caller answered the question',
  went_on: 'The caller went on speaking',
  backchannel: 'The caller only showed that they listen',
  no_words: 'No words followed',
  no_voice: 'It was not a voice',
};

/** What an event says to a person. Of a type that is not known: its name and all that it holds. */
export function eventText({ type, data }: Pick<LogEvent, 'type' | 'data'>): EventText {
  const get = (name: string) => text(data[name]);
  const told = (
    title: string,
    names: readonly string[] = [],
    tone: EventText['tone'] = 'normal',
  ): EventText => ({
    title,
    tone,
    details: names.flatMap((name) => {
      const value = data[name];
      return value === undefined || value === null ? [] : [{ name: inWords(name), value: shown(value) }];
    }),
  });
  switch (type) {
    case 'turn_decision': {
      const action = get('action') ?? '';
      const rule = get('rule') ?? '';
      const waits = number(data['timer_ms']);
      return {
        title: ACTIONS[action] ?? inWords(action),
        tone: 'normal',
        details: [
          { name: 'Because', value: RULES[rule] ?? inWords(rule) },
          ...(get('words') ? [{ name: 'Heard by then', value: get('words')! }] : []),
          ...(waits === undefined ? [] : [{ name: 'Waits', value: `${Math.round(waits)} ms` }]),
        ],
      };
    }
    case 'interruption': {
      const heard = number(data['heard_ms']);
      return {
        title: 'Caller interrupted the agent',
        tone: 'normal',
        details:
          heard === undefined ? [] : [{ name: 'Heard until then', value: `${(heard / 1000).toFixed(1)} s` }],
      };
    }
    case 'dtmf': {
      const direction = get('direction');
      const keys = get('digits') ?? get('digit') ?? '';
      if (direction === 'sent') return told(`Agent pressed ${keys}`);
      return told(direction === 'entry' ? `Caller entered ${keys}` : `Caller pressed ${keys}`);
    }
    case 'tool_confirmation':
      return told(`${get('name') ?? 'Tool'}: ${CONFIRMATION[get('answer') ?? ''] ?? 'confirmation'}`);
    case 'knowledge': {
      const passages = Array.isArray(data['passages']) ? (data['passages'] as unknown[]) : [];
      return {
        title: `Documents searched: ${passages.length} passage${passages.length === 1 ? '' : 's'}`,
        tone: 'normal',
        details: passages.slice(0, 10).map((passage) => {
          const { file_name, score } = (passage ?? {}) as Record<string, unknown>;
          return { name: text(file_name) ?? '', value: (number(score) ?? 0).toFixed(2) };
        }),
      };
    }
    case 'transfer': {
      const phase = get('phase') ?? '';
      const tone = phase === 'failed' ? 'bad' : phase === 'bridged' ? 'good' : 'normal';
      return told(TRANSFER[phase] ?? inWords(phase), ['destination_id', 'code'], tone);
    }
    case 'handover': {
      const phase = get('phase') ?? '';
      const tone = phase === 'failed' ? 'bad' : 'normal';
      return told(HANDOVER[phase] ?? inWords(phase), ['agent_id', 'version', 'code'], tone);
    }
    case 'command_result':
      return told('A request from outside was refused', ['code'], 'bad');
    case 'flow_node':
      return told(`Node ${get('node_id') ?? ''}`, ['by', 'edge_id']);
    case 'language':
      return told(`Language is now ${get('language') ?? ''}`, ['previous_language', 'changed_by']);
    case 'voicemail':
      return told('Caller left a message', ['duration_ms']);
    case 'recording_consent':
      return told(
        `Recording: ${get('mode') === 'ask' ? 'consent' : 'announcement'}: ${get('answer') ?? ''}`,
        [],
        get('answer') === 'no' ? 'bad' : 'normal',
      );
    case 'answer_class':
      return told(`Answered by: ${inWords(get('class') ?? 'unknown')}`, ['by', 'after_ms']);
    case 'do_not_call':
      return told('Caller asked not to be called again', ['reason']);
    case 'remember':
      return told('Agent noted something for later calls', ['kind']);
    case 'memory':
      return told(get('action') === 'read' ? 'Memories read' : 'Memories written', ['count', 'error']);
    case 'inbound_action':
      return told(`No agent took the call: ${inWords(get('action') ?? '')}`, ['reason', 'result', 'cause']);
    case 'stalled':
      return told(
        `Nothing came of: ${inWords(get('due') ?? '').toLowerCase()}`,
        ['waited_ms', 'recovery'],
        'bad',
      );
    case 'warning':
      return told(`Warning: ${inWords(get('code') ?? '')}`, ['name', 'provider', 'fault', 'error', 'reason']);
    case 'error':
      return told(`Error: ${inWords(get('code') ?? '')}`, ['fault'], 'bad');
    case 'state':
      return told(`Status: ${inWords(get('status') ?? '')}`, [
        'ended_by',
        'hangup_reason',
        'failure_reason',
        'cause',
      ]);
    case 'dial':
      return told(`Dialling: ${inWords(get('result') ?? '')}`, ['attempt', 'carrier', 'cause']);
    case 'webhook':
      return told(
        data['ok'] === true ? 'Webhook delivered' : 'Webhook not taken',
        ['attempt', 'last_status', 'last_error'],
        data['ok'] === true ? 'good' : 'bad',
      );
    default:
      return told(inWords(type), Object.keys(data));
  }
}

const CONFIRMATION: Readonly<Record<string, string>> = {
  asked: 'the caller was asked for a yes',
  yes: 'the caller said yes',
  no: 'the caller said no',
  unclear: 'neither a yes nor a no',
};

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
