import { AnswerDocumentError, type XmlElement } from './answer-document.ts';
import { dialects, type CarrierDialect } from '../callers/carrier-dialect.ts';
import type { ConferenceWish } from './conferences.ts';
import { deaf, toL16, withEncoding, withExtraHeaders, withStart } from '../callers/stream-dialect.ts';

const MAX_STREAM_URL = 2048;
const MAX_EXTRA_HEADERS = 512;

/** Languages by voice. https://plivo.com/docs/voice/xml/audio-output */
const BOTH = [
  'nl-NL',
  'en-AU',
  'en-GB',
  'en-US',
  'fr-FR',
  'de-DE',
  'it-IT',
  'pl-PL',
  'pt-BR',
  'es-ES',
  'es-US',
];
const SPOKEN: Readonly<Record<string, readonly string[]>> = {
  WOMAN: [...BOTH, 'da-DK', 'fr-CA', 'ru-RU', 'sv-SE'],
  MAN: [...BOTH, 'pt-PT'],
};

/** Of what `<Speak>` says. @throws AnswerDocumentError */
export function languageOf({ attributes, text }: XmlElement): string {
  const { voice = 'WOMAN', language = 'en-US' } = attributes;
  if (!SPOKEN[voice]?.includes(language))
    throw new AnswerDocumentError(`<Speak voice="${voice}" language="${language}">`);
  if (text === '') throw new AnswerDocumentError('<Speak> without a text');
  return language;
}

/** https://plivo.com/docs/voice/xml/conference @throws AnswerDocumentError */
export function conferenceOf({ attributes, text }: XmlElement): ConferenceWish {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(text)) throw new AnswerDocumentError(`<Conference>${text}`);
  const { endConferenceOnExit = 'false', ...others } = attributes;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw new AnswerDocumentError(`<Conference ${unknown}> is not supported by this emulator of Plivo`);
  return { name: text, endsOnExit: endConferenceOnExit === 'true' };
}

/** What `<Stream>` asks for; carriers 1.2. @throws AnswerDocumentError */
export function streamSettings({ attributes, text }: XmlElement): {
  dialect: CarrierDialect;
  keepCallAlive: boolean;
} {
  if (!/^wss?:\/\/[^\s]+$/.test(text) || text.length > MAX_STREAM_URL)
    throw new AnswerDocumentError('<Stream> holds no address of a WebSocket');
  const bidirectional = attributes['bidirectional'] === 'true';
  const track = attributes['audioTrack'] ?? 'inbound';
  if (!['inbound', 'outbound', 'both'].includes(track) || (bidirectional && track !== 'inbound'))
    throw new AnswerDocumentError(`<Stream audioTrack="${track}">`);
  const contentType = attributes['contentType'] ?? 'audio/x-mulaw;rate=8000';
  const format = /^(?:(audio\/x-mulaw);rate=8000|(audio\/x-l16);rate=(8000|16000))$/.exec(contentType);
  if (!format) throw new AnswerDocumentError(`<Stream contentType="${contentType}">`);
  const extraHeaders = attributes['extraHeaders'] ?? '';
  if (extraHeaders.length > MAX_EXTRA_HEADERS) throw new AnswerDocumentError('extraHeaders is too long');
  let dialect: CarrierDialect = dialects.plivo;
  if (format[2]) {
    const sampleRate = Number(format[3]);
    dialect = withStart(withEncoding(dialect, toL16(sampleRate)), (message) => {
      message.start['mediaFormat'] = { encoding: format[2], sampleRate };
    });
  }
  if (extraHeaders !== '') dialect = withExtraHeaders(dialect, extraHeaders.replaceAll(',', ';'));
  if (!bidirectional) dialect = deaf(dialect, 'audio on a one-way stream');
  return { dialect, keepCallAlive: attributes['keepCallAlive'] === 'true' };
}
