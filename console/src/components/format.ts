/** `short`: day and time, the year when it is another one. `time`: of the day, with seconds. `long`: all of it. */
export type TimeForm = 'short' | 'time' | 'date' | 'long';

/** @param timezone IANA name; an unknown one counts as UTC */
export function formatTime(iso: string, timezone: string, form: TimeForm, now = new Date()): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const year = at.getUTCFullYear() === now.getUTCFullYear() ? {} : ({ year: 'numeric' } as const);
  const day = { day: 'numeric', month: 'short' } as const;
  const minutes = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  const forms: Record<TimeForm, Intl.DateTimeFormatOptions> = {
    short: { ...day, ...year, ...minutes },
    time: { ...minutes, second: '2-digit' },
    date: { ...day, year: 'numeric' },
    long: { ...day, year: 'numeric', ...minutes, second: '2-digit', timeZoneName: 'short' },
  };
  const text = (timeZone: string) =>
    new Intl.DateTimeFormat('en-GB', { ...forms[form], timeZone }).format(at);
  try {
    return text(timezone);
  } catch {
    return text('UTC');
  }
}

/** Seconds as `0:07`, `12:30` or `1:02:03`. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (value: number) => String(value).padStart(2, '0');
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** Milliseconds as `820 ms` or `1.4 s`. */
export function formatLatency(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** Makers whose names are not written as other words are. */
export const MAKERS: Readonly<Record<string, string>> = {
  openai_compatible: 'OpenAI-compatible',
  openai: 'OpenAI',
  elevenlabs: 'ElevenLabs',
  hubspot: 'HubSpot',
};
const CAPITALS = ['api', 'csv', 'dtmf', 'llm', 'mcp', 'sip', 'stt', 'tts', 'ucc', 'url'];

/** A code word of the API as words for people: `no_answer` as `No answer`, `call.ended` as `Call ended`. */
export function inWords(value: string): string {
  if (Object.hasOwn(MAKERS, value)) return MAKERS[value]!;
  const words = value
    .split(/[._]/)
    .map((word) => (CAPITALS.includes(word) ? word.toUpperCase() : word))
    .join(' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A number with separators: `12,345`. */
export function formatCount(value: number): string {
  return new Intl.NumberFormat('en-GB').format(value);
}

/** How many there are of what: `1 contact`, `12,345 contacts`. */
export function countOf(value: number, one: string, many: string): string {
  return `${formatCount(value)} ${value === 1 ? one : many}`;
}

/** An amount of the API with its currency: `$12.50`; what is less than a hundredth is told to a millionth. */
export function formatMoney(amount: string | number, currency: string): string {
  const value = Number(amount);
  const isSmall = value !== 0 && Math.abs(value) < 0.01;
  const digits = { minimumFractionDigits: 2, maximumFractionDigits: isSmall ? 6 : 2 };
  try {
    return new Intl.NumberFormat('en-GB', {
      ...({ style: 'currency', currency, currencyDisplay: 'narrowSymbol' } as const),
      ...digits,
    }).format(value);
  } catch {
    return `${new Intl.NumberFormat('en-GB', digits).format(value)} ${currency}`;
  }
}
