import { ObjectId, Timestamp } from 'bson';
import { CommandError } from './errors.ts';
import type { Evaluate, Scope } from './expression.ts';
import { isNullish, named, type Operator } from './expression-operators.ts';
import { compile } from './expression.ts';
import { wholeNumber } from './numbers.ts';
import { isDocument, typeName, type Bson, type BsonDocument } from './values.ts';

type Value = Bson | undefined;

const DAY_MS = 86_400_000;
const units = ['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second', 'millisecond'] as const;
type Unit = (typeof units)[number];

const unitMs: Partial<Record<Unit, number>> = {
  week: 7 * DAY_MS,
  day: DAY_MS,
  hour: 3_600_000,
  minute: 60_000,
  second: 1000,
  millisecond: 1,
};

const formatters = new Map<string, Intl.DateTimeFormat>();

/** Milliseconds that local time in a zone is ahead of UTC at an instant. */
function offsetAt(instant: number, zone: string): number {
  if (zone === 'UTC' || zone === 'GMT' || zone === 'Z') return 0;
  const fixed = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone);
  if (fixed) return (fixed[1] === '-' ? -1 : 1) * (Number(fixed[2]) * 60 + Number(fixed[3] ?? 0)) * 60_000;
  let formatter = formatters.get(zone);
  if (!formatter) {
    try {
      formatter = new Intl.DateTimeFormat('en-US', {
        timeZone: zone,
        calendar: 'gregory',
        hourCycle: 'h23',
        era: 'short',
        year: 'numeric',
        month: 'numeric',
        day: 'numeric',
        hour: 'numeric',
        minute: 'numeric',
        second: 'numeric',
      });
    } catch {
      throw new CommandError(40485, `unrecognized time zone identifier: "${zone}"`);
    }
    formatters.set(zone, formatter);
  }
  const parts: Record<string, string> = {};
  for (const { type, value } of formatter.formatToParts(instant)) parts[type] = value;
  const year = parts.era === 'BC' ? 1 - Number(parts.year) : Number(parts.year);
  const local = utc(
    year,
    Number(parts.month) - 1,
    Number(parts.day),
    Number(parts.hour),
    Number(parts.minute),
    Number(parts.second),
  );
  return local - Math.floor(instant / 1000) * 1000;
}

/** As Date.UTC, but years below 100 are what they say. */
function utc(year: number, month: number, day = 1, hour = 0, minute = 0, second = 0, ms = 0): number {
  const date = new Date(0);
  date.setUTCFullYear(year, month, day);
  date.setUTCHours(hour, minute, second, ms);
  return date.getTime();
}

/** Local time as if it were UTC, so that the UTC getters give its parts. */
function toLocal(instant: number, zone: string): Date {
  return new Date(instant + offsetAt(instant, zone));
}

/** The instant of a local time. One that a change of clocks skips or repeats is taken with the offset before it. */
function fromLocal(local: number, zone: string): number {
  const guess = local - offsetAt(local, zone);
  const offset = offsetAt(guess, zone);
  const instant = local - offset;
  return offsetAt(instant, zone) === offset ? instant : local - offsetAt(local - DAY_MS, zone);
}

export function toDate(name: string, value: Value): Date {
  if (value instanceof Date) return value;
  if (value instanceof ObjectId) return value.getTimestamp();
  if (value instanceof Timestamp) return new Date(value.t * 1000);
  throw new CommandError(16006, `can't convert from BSON type ${typeName(value)} to Date in ${name}`);
}

function isoWeek(local: Date): { year: number; week: number } {
  const day = (local.getUTCDay() + 6) % 7;
  const thursday = new Date(utc(local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate() - day + 3));
  const year = thursday.getUTCFullYear();
  return { year, week: 1 + Math.floor((thursday.getTime() - utc(year, 0, 1)) / (7 * DAY_MS)) };
}

function dayOfYear(local: Date): number {
  return (
    1 +
    Math.floor(
      (utc(local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()) -
        utc(local.getUTCFullYear(), 0, 1)) /
        DAY_MS,
    )
  );
}

const dateParts: Record<string, (local: Date) => Bson> = {
  $year: (local) => local.getUTCFullYear(),
  $month: (local) => local.getUTCMonth() + 1,
  $dayOfMonth: (local) => local.getUTCDate(),
  $dayOfWeek: (local) => local.getUTCDay() + 1,
  $dayOfYear: dayOfYear,
  $hour: (local) => local.getUTCHours(),
  $minute: (local) => local.getUTCMinutes(),
  $second: (local) => local.getUTCSeconds(),
  $millisecond: (local) => local.getUTCMilliseconds(),
  $week: (local) => Math.floor((dayOfYear(local) + 6 - local.getUTCDay()) / 7),
  $isoWeek: (local) => isoWeek(local).week,
  $isoWeekYear: (local) => BigInt(isoWeek(local).year),
  $isoDayOfWeek: (local) => ((local.getUTCDay() + 6) % 7) + 1,
};

function datePart(name: string, part: (local: Date) => Bson): Operator {
  return (operand, names) => {
    const parts: { date: Evaluate; timezone?: Evaluate } =
      isDocument(operand) && 'date' in operand
        ? (named(name, operand, names, ['date'], ['timezone']) as { date: Evaluate })
        : { date: compile(Array.isArray(operand) && operand.length === 1 ? operand[0]! : operand, names) };
    return (scope) => {
      const date = parts.date(scope);
      const zone = zoneOf(parts.timezone, scope);
      if (isNullish(date) || zone === null) return null;
      return part(toLocal(toDate(name, date).getTime(), zone));
    };
  };
}

/** @returns null when the zone is given and is null */
function zoneOf(timezone: Evaluate | undefined, scope: Scope): string | null {
  if (!timezone) return 'UTC';
  const zone = timezone(scope);
  if (isNullish(zone)) return null;
  if (typeof zone !== 'string')
    throw new CommandError(40517, `timezone must evaluate to a string, found ${typeName(zone)}`);
  return zone;
}

const pad = (value: number, width: number) => String(value).padStart(width, '0');
const monthNames = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** Formats by $dateToString's specifiers. @throws CommandError for others */
export function formatDate(date: Date, format: string, zone: string): string {
  const instant = date.getTime();
  const local = toLocal(instant, zone);
  return format.replace(/%(.?)/g, (_, specifier: string) => {
    switch (specifier) {
      case 'Y':
        return pad(local.getUTCFullYear(), 4);
      case 'm':
        return pad(local.getUTCMonth() + 1, 2);
      case 'd':
        return pad(local.getUTCDate(), 2);
      case 'H':
        return pad(local.getUTCHours(), 2);
      case 'M':
        return pad(local.getUTCMinutes(), 2);
      case 'S':
        return pad(local.getUTCSeconds(), 2);
      case 'L':
        return pad(local.getUTCMilliseconds(), 3);
      case 'j':
        return pad(dayOfYear(local), 3);
      case 'u':
        return String(((local.getUTCDay() + 6) % 7) + 1);
      case 'w':
        return String(local.getUTCDay() + 1);
      case 'G':
        return pad(isoWeek(local).year, 4);
      case 'V':
        return pad(isoWeek(local).week, 2);
      case 'U':
        return pad(Math.floor((dayOfYear(local) + 6 - local.getUTCDay()) / 7), 2);
      case 'b':
        return monthNames[local.getUTCMonth()]!.slice(0, 3);
      case 'B':
        return monthNames[local.getUTCMonth()]!;
      case 'z': {
        const minutes = Math.round(offsetAt(instant, zone) / 60_000);
        const size = Math.abs(minutes);
        return `${minutes < 0 ? '-' : '+'}${pad(Math.floor(size / 60), 2)}${pad(size % 60, 2)}`;
      }
      case 'Z':
        return String(Math.round(offsetAt(instant, zone) / 60_000));
      case '%':
        return '%';
      default:
        throw new CommandError(18536, `Invalid format character '%${specifier}' in format string`);
    }
  });
}

/**
 * Reads a date by $dateFromString's specifiers, or ISO 8601 without any.
 * @throws CommandError ConversionFailure
 */
export function parseDate(text: string, format: string | undefined, zone: string): Date {
  const fail = (): never => {
    throw new CommandError('ConversionFailure', `Error parsing date string '${text}'`);
  };
  if (format === undefined) {
    const match =
      /^(\d{4})-(\d{2})(?:-(\d{2}))?(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?\s*(Z|[+-]\d{2}:?\d{2})?$/.exec(
        text,
      );
    if (!match) return fail();
    const [, year, month, day = '1', hour = '0', minute = '0', second = '0', fraction = '', own] = match;
    const local = utc(
      Number(year),
      Number(month) - 1,
      Number(day),
      Number(hour),
      Number(minute),
      Number(second),
      Number(fraction.padEnd(3, '0').slice(0, 3)),
    );
    const check = new Date(local);
    if (check.getUTCMonth() + 1 !== Number(month) || check.getUTCDate() !== Number(day)) return fail();
    return new Date(fromLocal(local, own === undefined ? zone : own === 'Z' ? 'UTC' : own));
  }
  const fields: Record<string, number> = { Y: 1970, m: 1, d: 1, H: 0, M: 0, S: 0, L: 0 };
  const names: string[] = [];
  let own: string | undefined;
  const pattern = format.replace(
    /%([YmdHMSLz%])|([.*+?^${}()|[\]\\])/g,
    (whole, specifier: string | undefined, special: string | undefined) => {
      if (special !== undefined) return `\\${special}`;
      if (specifier === '%') return '%';
      names.push(specifier!);
      if (specifier === 'z') return '(Z|[+-]\\d{2}:?\\d{2})';
      return specifier === 'Y' ? '(\\d{4})' : specifier === 'L' ? '(\\d{1,3})' : '(\\d{1,2})';
    },
  );
  if (/%/.test(format.replace(/%[YmdHMSLz%]/g, '')))
    throw new CommandError(18536, `Invalid format string '${format}'`);
  const match = new RegExp(`^${pattern}$`).exec(text);
  if (!match) return fail();
  for (const [i, name] of names.entries()) {
    if (name === 'z') own = match[i + 1] === 'Z' ? 'UTC' : match[i + 1];
    else fields[name] = Number(name === 'L' ? match[i + 1]!.padEnd(3, '0') : match[i + 1]);
  }
  return new Date(
    fromLocal(utc(fields.Y!, fields.m! - 1, fields.d, fields.H, fields.M, fields.S, fields.L), own ?? zone),
  );
}

function unitOf(name: string, value: Value): Unit {
  if (typeof value !== 'string' || !units.includes(value as Unit))
    throw new CommandError(
      'FailedToParse',
      `${name} parameter 'unit' value cannot be recognized as a time unit: ${String(value)}`,
    );
  return value as Unit;
}

const monthsIn: Partial<Record<Unit, number>> = { year: 12, quarter: 3, month: 1 };

function addUnits(date: Date, unit: Unit, amount: number, zone: string): Date {
  const local = toLocal(date.getTime(), zone);
  const months = monthsIn[unit];
  if (months !== undefined) {
    const target = new Date(utc(local.getUTCFullYear(), local.getUTCMonth() + months * amount));
    const lastDay = new Date(utc(target.getUTCFullYear(), target.getUTCMonth() + 1, 0)).getUTCDate();
    const day = Math.min(local.getUTCDate(), lastDay);
    return new Date(
      fromLocal(
        utc(target.getUTCFullYear(), target.getUTCMonth(), day) +
          (((local.getTime() % DAY_MS) + DAY_MS) % DAY_MS),
        zone,
      ),
    );
  }
  // Days are calendar days, which may have 23 or 25 hours; hours and less are time that passes.
  if (unit === 'day' || unit === 'week')
    return new Date(fromLocal(local.getTime() + amount * unitMs[unit]!, zone));
  return new Date(date.getTime() + amount * unitMs[unit]!);
}

const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

function weekdayOf(value: Value): number {
  if (isNullish(value)) return 0;
  const text = typeof value === 'string' ? value.toLowerCase() : '';
  const found = weekdays.findIndex((day) => day === text || day.slice(0, 3) === text);
  if (found < 0)
    throw new CommandError(
      'FailedToParse',
      `parameter 'startOfWeek' value cannot be recognized as a day of a week: ${String(value)}`,
    );
  return found;
}

/** Local midnight of the first day of the week. */
function startOfWeek(local: Date, first: number): number {
  return utc(
    local.getUTCFullYear(),
    local.getUTCMonth(),
    local.getUTCDate() - ((local.getUTCDay() - first + 7) % 7),
  );
}

function truncate(date: Date, unit: Unit, size: number, zone: string, first: number): Date {
  const local = toLocal(date.getTime(), zone);
  const months = monthsIn[unit];
  if (months !== undefined) {
    // Bins count from the year 2000.
    const since = (local.getUTCFullYear() - 2000) * 12 + local.getUTCMonth();
    const bin = months * size;
    return new Date(fromLocal(utc(2000, Math.floor(since / bin) * bin), zone));
  }
  if (unit === 'week') {
    const origin = startOfWeek(new Date(utc(2000, 0, 1 + 6)), first);
    const weeks = Math.floor((local.getTime() - origin) / (7 * DAY_MS * size));
    return new Date(fromLocal(origin + weeks * 7 * DAY_MS * size, zone));
  }
  const length = unitMs[unit]! * size;
  const origin = utc(2000, 0);
  if (unit === 'day')
    return new Date(fromLocal(origin + Math.floor((local.getTime() - origin) / length) * length, zone));
  const start = fromLocal(origin, zone);
  return new Date(start + Math.floor((date.getTime() - start) / length) * length);
}

function difference(from: Date, to: Date, unit: Unit, zone: string, first: number): bigint {
  const a = toLocal(from.getTime(), zone);
  const b = toLocal(to.getTime(), zone);
  switch (unit) {
    case 'year':
      return BigInt(b.getUTCFullYear() - a.getUTCFullYear());
    case 'quarter':
      return BigInt(
        (b.getUTCFullYear() - a.getUTCFullYear()) * 4 +
          Math.floor(b.getUTCMonth() / 3) -
          Math.floor(a.getUTCMonth() / 3),
      );
    case 'month':
      return BigInt((b.getUTCFullYear() - a.getUTCFullYear()) * 12 + b.getUTCMonth() - a.getUTCMonth());
    case 'week':
      return BigInt(Math.round((startOfWeek(b, first) - startOfWeek(a, first)) / (7 * DAY_MS)));
    case 'day':
      return BigInt(Math.floor(b.getTime() / DAY_MS) - Math.floor(a.getTime() / DAY_MS));
    default: {
      const length = unitMs[unit]!;
      return BigInt(Math.floor(b.getTime() / length) - Math.floor(a.getTime() / length));
    }
  }
}

function wholePart(name: string, value: Value): number {
  const whole = wholeNumber(value);
  if (whole === undefined)
    throw new CommandError(40515, `${name} requires whole numbers, found ${typeName(value)}`);
  return whole;
}

function moving(name: string, sign: 1 | -1): Operator {
  return (operand, names) => {
    const parts = named(name, operand, names, ['startDate', 'unit', 'amount'], ['timezone']) as Record<
      'startDate' | 'unit' | 'amount',
      Evaluate
    > & { timezone?: Evaluate };
    return (scope) => {
      const [date, unit, amount] = [parts.startDate(scope), parts.unit(scope), parts.amount(scope)];
      const zone = zoneOf(parts.timezone, scope);
      if (isNullish(date) || isNullish(unit) || isNullish(amount) || zone === null) return null;
      return addUnits(toDate(name, date), unitOf(name, unit), sign * wholePart(name, amount), zone);
    };
  };
}

/** Aggregation's operators on dates. */
export const dateOperators: Record<string, Operator> = {
  ...Object.fromEntries(Object.entries(dateParts).map(([name, part]) => [name, datePart(name, part)])),
  $dateToString: (operand, names) => {
    const parts = named('$dateToString', operand, names, ['date'], ['format', 'timezone', 'onNull']) as {
      date: Evaluate;
      format?: Evaluate;
      timezone?: Evaluate;
      onNull?: Evaluate;
    };
    return (scope) => {
      const date = parts.date(scope);
      const zone = zoneOf(parts.timezone, scope);
      const format = parts.format?.(scope);
      if (isNullish(date)) return parts.onNull ? parts.onNull(scope) : null;
      if (zone === null || format === null) return null;
      const chosen =
        typeof format === 'string'
          ? format
          : parts.timezone && zone !== 'UTC'
            ? '%Y-%m-%dT%H:%M:%S.%L'
            : '%Y-%m-%dT%H:%M:%S.%LZ';
      return formatDate(toDate('$dateToString', date), chosen, zone);
    };
  },
  $dateFromString: (operand, names) => {
    const parts = named(
      '$dateFromString',
      operand,
      names,
      ['dateString'],
      ['format', 'timezone', 'onError', 'onNull'],
    ) as {
      dateString: Evaluate;
      format?: Evaluate;
      timezone?: Evaluate;
      onError?: Evaluate;
      onNull?: Evaluate;
    };
    return (scope) => {
      const text = parts.dateString(scope);
      const zone = zoneOf(parts.timezone, scope);
      const format = parts.format?.(scope);
      if (isNullish(text)) return parts.onNull ? parts.onNull(scope) : null;
      if (zone === null || format === null) return null;
      try {
        if (typeof text !== 'string')
          throw new CommandError(
            241,
            `$dateFromString requires that 'dateString' be a string, found: ${typeName(text)}`,
          );
        return parseDate(text, typeof format === 'string' ? format : undefined, zone);
      } catch (error) {
        if (parts.onError && error instanceof CommandError) return parts.onError(scope);
        throw error;
      }
    };
  },
  $dateToParts: (operand, names) => {
    const parts = named('$dateToParts', operand, names, ['date'], ['timezone', 'iso8601']) as {
      date: Evaluate;
      timezone?: Evaluate;
      iso8601?: Evaluate;
    };
    return (scope) => {
      const date = parts.date(scope);
      const zone = zoneOf(parts.timezone, scope);
      if (isNullish(date) || zone === null) return null;
      const local = toLocal(toDate('$dateToParts', date).getTime(), zone);
      const time: BsonDocument = {
        hour: local.getUTCHours(),
        minute: local.getUTCMinutes(),
        second: local.getUTCSeconds(),
        millisecond: local.getUTCMilliseconds(),
      };
      if (parts.iso8601?.(scope) === true) {
        const { year, week } = isoWeek(local);
        return { isoWeekYear: year, isoWeek: week, isoDayOfWeek: ((local.getUTCDay() + 6) % 7) + 1, ...time };
      }
      return {
        year: local.getUTCFullYear(),
        month: local.getUTCMonth() + 1,
        day: local.getUTCDate(),
        ...time,
      };
    };
  },
  $dateFromParts: (operand, names) => {
    const parts = named(
      '$dateFromParts',
      operand,
      names,
      ['year'],
      ['month', 'day', 'hour', 'minute', 'second', 'millisecond', 'timezone'],
    );
    return (scope) => {
      const zone = zoneOf(parts.timezone, scope);
      const values: number[] = [];
      for (const [field, otherwise] of [
        ['year', 1970],
        ['month', 1],
        ['day', 1],
        ['hour', 0],
        ['minute', 0],
        ['second', 0],
        ['millisecond', 0],
      ] as const) {
        const value = parts[field] ? parts[field](scope) : otherwise;
        if (isNullish(value)) return null;
        values.push(wholePart('$dateFromParts', value));
      }
      if (zone === null) return null;
      const [year, month, day, hour, minute, second, ms] = values as [
        number,
        number,
        number,
        number,
        number,
        number,
        number,
      ];
      return new Date(fromLocal(utc(year, month - 1, day, hour, minute, second, ms), zone));
    };
  },
  $dateTrunc: (operand, names) => {
    const parts = named(
      '$dateTrunc',
      operand,
      names,
      ['date', 'unit'],
      ['binSize', 'timezone', 'startOfWeek'],
    ) as Record<'date' | 'unit', Evaluate> &
      Partial<Record<'binSize' | 'timezone' | 'startOfWeek', Evaluate>>;
    return (scope) => {
      const [date, unit, size] = [
        parts.date(scope),
        parts.unit(scope),
        parts.binSize ? parts.binSize(scope) : 1,
      ];
      const zone = zoneOf(parts.timezone, scope);
      if (isNullish(date) || isNullish(unit) || isNullish(size) || zone === null) return null;
      const bin = wholePart('$dateTrunc', size);
      if (bin < 1)
        throw new CommandError(
          5439018,
          `$dateTrunc requires 'binSize' to be greater than 0, but got value ${bin}`,
        );
      return truncate(
        toDate('$dateTrunc', date),
        unitOf('$dateTrunc', unit),
        bin,
        zone,
        weekdayOf(parts.startOfWeek?.(scope)),
      );
    };
  },
  $dateAdd: moving('$dateAdd', 1),
  $dateSubtract: moving('$dateSubtract', -1),
  $dateDiff: (operand, names) => {
    const parts = named(
      '$dateDiff',
      operand,
      names,
      ['startDate', 'endDate', 'unit'],
      ['timezone', 'startOfWeek'],
    ) as Record<'startDate' | 'endDate' | 'unit', Evaluate> &
      Partial<Record<'timezone' | 'startOfWeek', Evaluate>>;
    return (scope) => {
      const [from, to, unit] = [parts.startDate(scope), parts.endDate(scope), parts.unit(scope)];
      const zone = zoneOf(parts.timezone, scope);
      if (isNullish(from) || isNullish(to) || isNullish(unit) || zone === null) return null;
      return difference(
        toDate('$dateDiff', from),
        toDate('$dateDiff', to),
        unitOf('$dateDiff', unit),
        zone,
        weekdayOf(parts.startOfWeek?.(scope)),
      );
    };
  },
};
