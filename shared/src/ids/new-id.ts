import { randomBytes } from 'node:crypto';

/** Prefixes of our ids and what they stand for (resources: identifiers). Session ids are UUIDs and have none. */
export const ID_PREFIXES = {
  agent: 'agt',
  org: 'org',
  project: 'prj',
  telephonyAccount: 'tel',
  user: 'usr',
  member: 'mbr',
  invite: 'ivt',
  apiKey: 'key',
  memory: 'mry',
  test: 'tst',
  testRun: 'trn',
  testResult: 'trs',
  inboundDeployment: 'ibd',
  campaign: 'cmp',
  campaignContact: 'cct',
  attempt: 'att',
  recipientList: 'rcl',
  recipient: 'rcp',
  tool: 'tol',
  appConnection: 'apc',
  analysis: 'ana',
  analysisResult: 'anr',
  database: 'dbs',
  databaseRow: 'dbr',
  knowledgeBase: 'kbs',
  knowledgeFile: 'kbf',
  chunk: 'kbc',
  audioAsset: 'aud',
  phoneNumber: 'phn',
  voice: 'voc',
  llm: 'llm',
  stt: 'stt',
  tts: 'tts',
  providerCredential: 'prv',
  recording: 'rec',
  event: 'evt',
  invoice: 'inv',
  rateLimitConfig: 'rlc',
  uccComplaint: 'ucc',
  webhookDelivery: 'whd',
  request: 'req',
  audit: 'adt',
} as const;

export type IdKind = keyof typeof ID_PREFIXES;

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * 26 lower-case characters that sort by time: 48 bits of milliseconds, then 80 random bits (the form of ULID, in
 * lower case).
 */
export function sortableId(nowMs = Date.now()): string {
  let text = '';
  let time = nowMs;
  for (let i = 0; i < 10; i++) {
    text = ALPHABET[time % 32]! + text;
    time = Math.floor(time / 32);
  }
  const random = randomBytes(16);
  for (let i = 0; i < 16; i++) text += ALPHABET[random[i]! & 31]!;
  return text;
}

/** A new id, for example `agt_01k…`. */
export function newId(kind: IdKind, nowMs?: number): string {
  return `${ID_PREFIXES[kind]}_${sortableId(nowMs)}`;
}

/** UUID version 7 (RFC 9562): sorts by time. */
export function uuidV7(nowMs = Date.now()): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The form of one kind of id; after the prefix anything may follow that a client could have been given. */
export function idPattern(kind: IdKind): RegExp {
  return new RegExp(`^${ID_PREFIXES[kind]}_[A-Za-z0-9_-]{1,64}$`);
}
