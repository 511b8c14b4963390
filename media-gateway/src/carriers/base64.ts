const INVALID = -1;
const VALUES = new Int32Array(256).fill(INVALID);
for (const [value, character] of [
  ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
].entries()) {
  VALUES[character.charCodeAt(0)] = value;
}
const PAD = 0x3d;

/**
 * Decodes padded base64 (RFC 4648, section 4) straight from a message's bytes, so that no string is made for it.
 * @param out takes the result; at least three quarters of the input's length
 * @returns bytes written, or -1 when the input is not base64 in its usual form
 */
export function decodeBase64(input: Uint8Array, start: number, end: number, out: Uint8Array): number {
  const length = end - start;
  if (length === 0) return 0;
  if (length % 4 !== 0) return -1;
  const padding = input[end - 1] !== PAD ? 0 : input[end - 2] !== PAD ? 1 : 2;
  const whole = padding === 0 ? end : end - 4;
  let at = 0;
  for (let i = start; i < whole; i += 4) {
    const bits =
      (VALUES[input[i]!]! << 18) |
      (VALUES[input[i + 1]!]! << 12) |
      (VALUES[input[i + 2]!]! << 6) |
      VALUES[input[i + 3]!]!;
    if (bits < 0) return -1;
    out[at] = bits >> 16;
    out[at + 1] = bits >> 8;
    out[at + 2] = bits;
    at += 3;
  }
  if (padding === 0) return at;
  const third = padding === 1 ? VALUES[input[end - 2]!]! : 0;
  const bits = (VALUES[input[whole]!]! << 18) | (VALUES[input[whole + 1]!]! << 12) | (third << 6);
  if (bits < 0) return -1;
  out[at++] = bits >> 16;
  if (padding === 1) out[at++] = bits >> 8;
  return at;
}

/** The form for anything unusual: padding may be missing. @returns undefined when it is not base64 */
export function parseBase64(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const digits = text.replace(/=+$/, '').length;
  if (digits % 4 === 1 || (text.length !== digits && text.length % 4 !== 0)) return undefined;
  return Buffer.from(text, 'base64');
}

/** Without a copy of the bytes. */
export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
