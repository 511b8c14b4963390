import type { BSONRegExp } from 'bson';
import { CommandError } from '../errors.ts';

const cache = new Map<string, RegExp>();
const MAX_CACHED = 500;

/**
 * MongoDB's regular expressions are PCRE's; JavaScript's differ in places. Where a pattern means something else in
 * JavaScript it is rewritten, and what JavaScript has not is refused.
 * @throws CommandError 51091 for a pattern that is wrong, or that JavaScript cannot express
 */
export function compileRegex({ pattern, options }: BSONRegExp): RegExp {
  const key = `${options}/${pattern}`;
  let regex = cache.get(key);
  if (!regex) {
    regex = translate(pattern, options);
    if (cache.size >= MAX_CACHED) cache.clear();
    cache.set(key, regex);
  }
  return regex;
}

function translate(pattern: string, options: string): RegExp {
  let flags = options;
  const inline = /^\(\?([imsx]+)\)/.exec(pattern);
  if (inline) {
    flags += inline[1]!;
    pattern = pattern.slice(inline[0].length);
  }
  const unknown = /[^imsxu]/.exec(flags);
  if (unknown) throw new CommandError(51108, `invalid flag in regex options: ${unknown[0]}`);
  const source = rewrite(pattern, {
    extended: flags.includes('x'),
    dotAll: flags.includes('s'),
    multiline: flags.includes('m'),
  });
  try {
    return new RegExp(source, `u${[...new Set(flags)].filter((flag) => 'ims'.includes(flag)).join('')}`);
  } catch (error) {
    throw new CommandError(
      51091,
      `Regular expression is invalid: ${error instanceof Error ? error.message : 'syntax'}`,
    );
  }
}

interface Mode {
  extended: boolean;
  dotAll: boolean;
  multiline: boolean;
}

function rewrite(pattern: string, mode: Mode): string {
  let out = '';
  let inClass = false;
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern[i]!;
    if (char === '\\') {
      const next = pattern[++i];
      if (next === undefined)
        throw new CommandError(51091, 'Regular expression is invalid: \\ at end of pattern');
      out += rewriteEscape(next, inClass, pattern.slice(i + 1));
      if (next === 'p' || next === 'P') {
        const property = /^\{\w+\}/.exec(pattern.slice(i + 1))![0];
        out += property;
        i += property.length;
      }
    } else if (inClass) {
      if (char === '[' && /^\[[:.=]/.test(pattern.slice(i))) throw unsupported('POSIX classes');
      if (char === ']') inClass = false;
      out += char === '[' ? '\\[' : char;
    } else if (char === '[') {
      inClass = true;
      out += char;
      if (pattern[i + 1] === '^') out += pattern[++i];
      // A bracket that comes first stands for itself.
      if (pattern[i + 1] === ']') {
        out += '\\]';
        i++;
      }
    } else if (
      char === '(' &&
      pattern[i + 1] === '?' &&
      !/^\(\?(?::|=|!|<=|<!|<[A-Za-z_]\w*>)/.test(pattern.slice(i))
    ) {
      throw unsupported(pattern.slice(i, i + 4));
    } else if (mode.extended && /\s/.test(char)) {
      continue;
    } else if (mode.extended && char === '#') {
      while (i + 1 < pattern.length && pattern[i + 1] !== '\n') i++;
    } else if (char === '.' && !mode.dotAll) {
      out += '[^\\n]';
    } else if (char === '$' && !mode.multiline) {
      // PCRE's $ also stands before a line break that ends the text.
      out += '(?=\\n?$)';
    } else if (char === '{' && !/^\{\d+(?:,\d*)?\}/.test(pattern.slice(i))) {
      out += '\\{';
    } else if (char === ']' || (char === '}' && !/\{\d+(?:,\d*)?$/.test(pattern.slice(0, i)))) {
      out += `\\${char}`;
    } else {
      out += char;
    }
  }
  return out;
}

function rewriteEscape(char: string, inClass: boolean, rest: string): string {
  if (/[dDwWbntrfv]/.test(char)) return `\\${char}`;
  if (char === 's') return inClass ? ' \\t\\n\\v\\f\\r' : '[ \\t\\n\\v\\f\\r]';
  if (char === 'S' && !inClass) return '[^ \\t\\n\\v\\f\\r]';
  if (char === 'B' && !inClass) return '\\B';
  if (char === 'A' && !inClass) return '(?<![\\s\\S])';
  if (char === 'z' && !inClass) return '(?![\\s\\S])';
  if (char === 'Z' && !inClass) return '(?=\\n?(?![\\s\\S]))';
  if (char === 'x' && /^[0-9a-fA-F]{2}/.test(rest)) return '\\x';
  if ((char === 'p' || char === 'P') && /^\{\w+\}/.test(rest)) return `\\${char}`;
  if (/[1-9]/.test(char) && !inClass) return `\\${char}`;
  if (/[A-Za-z0-9]/.test(char)) throw unsupported(`\\${char}`);
  // Punctuation stands for itself; JavaScript allows the backslash before its own syntax only.
  if (/[\^$\\.*+?()[\]{}|/]/.test(char) || (inClass && char === '-')) return `\\${char}`;
  return char;
}

function unsupported(what: string): CommandError {
  return new CommandError(51091, `Regular expression is invalid: ${what} is not supported by this store`);
}
