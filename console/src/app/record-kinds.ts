import type { LucideIcon } from 'lucide-react';
import type { components } from '../api/schema.d.ts';
import {
  AudioLines,
  BookOpen,
  Cpu,
  Database,
  ListChecks,
  Music,
  Phone,
  PhoneIncoming,
  PhoneOff,
  PlugZap,
  Server,
  Wrench,
} from '../components/build-icons.ts';

/** Records that are listed, made and changed by what the description says of their operations. */
export interface RecordKind {
  /** In the address of the page. */
  id: string;
  title: string;
  group: 'Conversations' | 'Build' | 'Telephony' | 'Organisation';
  icon: LucideIcon;
  /** As names of operations have it: `listTools`, `createTool`. */
  many: string;
  one: string;
  /** Fields of the table, the name first. */
  columns: readonly string[];
  /** What they are for, when there are none. */
  text: string;
}

type Schemas = components['schemas'];
/** The types of the API say what fields a record has: a column that is none does not compile. */
type KindOf<One extends keyof Schemas> = Omit<RecordKind, 'one' | 'columns'> & {
  one: One;
  columns: readonly (keyof Schemas[One] & string)[];
};

function kind<One extends keyof Schemas>(described: KindOf<One>): RecordKind {
  return described;
}

/** One line each. */
export const RECORD_KINDS: readonly RecordKind[] = [
  kind({
    id: 'tools',
    title: 'Tools',
    group: 'Build',
    icon: Wrench,
    many: 'Tools',
    one: 'Tool',
    columns: ['name', 'type', 'description', 'enabled', 'updated_at'],
    text: 'A tool lets an agent do something: ask your system, book, look up. The language model decides when.',
  }),
  kind({
    id: 'knowledge-bases',
    title: 'Knowledge',
    group: 'Build',
    icon: BookOpen,
    many: 'KnowledgeBases',
    one: 'KnowledgeBase',
    columns: ['name', 'description', 'status', 'file_count', 'updated_at'],
    text: 'Documents that agents look things up in while they talk.',
  }),
  kind({
    id: 'databases',
    title: 'Databases',
    group: 'Build',
    icon: Database,
    many: 'Databases',
    one: 'Database',
    columns: ['name', 'kind', 'row_count', 'updated_at'],
    text: 'Tables in which each call leaves a row with what came of it.',
  }),
  kind({
    id: 'analyses',
    title: 'Analyses',
    group: 'Build',
    icon: ListChecks,
    many: 'Analyses',
    one: 'Analysis',
    columns: ['name', 'type', 'enabled', 'updated_at'],
    text: 'Questions that are answered about a call once it is over.',
  }),
  kind({
    id: 'audio-assets',
    title: 'Audio',
    group: 'Build',
    icon: Music,
    many: 'AudioAssets',
    one: 'AudioAsset',
    columns: ['name', 'kind', 'duration_seconds', 'created_at'],
    text: 'Sounds for greetings, waiting and the background.',
  }),
  kind({
    id: 'voices',
    title: 'Voices',
    group: 'Build',
    icon: AudioLines,
    many: 'Voices',
    one: 'Voice',
    columns: ['name', 'provider', 'languages', 'gender', 'source', 'status'],
    text: 'Voices that agents speak with.',
  }),
  kind({
    id: 'phone-numbers',
    title: 'Numbers',
    group: 'Telephony',
    icon: Phone,
    many: 'PhoneNumbers',
    one: 'PhoneNumber',
    columns: ['phone_number', 'label', 'provider', 'telephony_account_id', 'status', 'created_at'],
    text: 'Telephone numbers that people call, and that calls come from.',
  }),
  kind({
    id: 'inbound-deployments',
    title: 'Inbound',
    group: 'Telephony',
    icon: PhoneIncoming,
    many: 'InboundDeployments',
    one: 'InboundDeployment',
    columns: ['name', 'agent_id', 'phone_number_id', 'status', 'updated_at'],
    text: 'Which agent answers which number, and when.',
  }),
  kind({
    id: 'telephony-accounts',
    title: 'Carrier accounts',
    group: 'Telephony',
    icon: Server,
    many: 'TelephonyAccounts',
    one: 'TelephonyAccount',
    columns: ['name', 'provider', 'status', 'last_verified_at', 'last_callback_at'],
    text: 'Accounts at carriers, by which calls are made and received.',
  }),
  kind({
    id: 'recipient-lists',
    title: 'Lists and do-not-call',
    group: 'Telephony',
    icon: PhoneOff,
    many: 'RecipientLists',
    one: 'RecipientList',
    columns: ['name', 'kind', 'recipient_count', 'updated_at'],
    text: 'Numbers that are never called, and lists of people for campaigns.',
  }),
  kind({
    id: 'provider-credentials',
    title: 'Provider credentials',
    group: 'Organisation',
    icon: PlugZap,
    many: 'ProviderCredentials',
    one: 'ProviderCredential',
    columns: ['name', 'provider', 'status', 'last_verified_at'],
    text: 'Accounts of your own at providers of speech and language models. Without one, those of this installation are used.',
  }),
  kind({
    id: 'models',
    title: 'Models',
    group: 'Organisation',
    icon: Cpu,
    many: 'Models',
    one: 'Model',
    columns: ['name', 'kind', 'provider', 'model', 'status'],
    text: 'What agents hear, think and speak with: the models of this installation, and those that you add.',
  }),
];

export function recordKindOf(pathname: string): RecordKind | undefined {
  const part = pathname.split('/')[3];
  return RECORD_KINDS.find(({ id }) => id === part);
}
