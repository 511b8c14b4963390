/** Which record a field names, by the end of its name. */

export type ReferenceKind =
  | 'llm'
  | 'stt'
  | 'tts'
  | 'voice'
  | 'agent'
  | 'asset'
  | 'tool'
  | 'analysis'
  | 'knowledge_base'
  | 'database'
  | 'number'
  | 'account'
  | 'connection'
  | 'credential'
  | 'list'
  | 'zone';

const ENDINGS: readonly (readonly [RegExp, ReferenceKind])[] = [
  [/(^|_)tts_voice_id$|^default_voice_id$|^voice_id$/, 'voice'],
  [/(^|_)llm_ids?$/, 'llm'],
  [/(^|_)stt_ids?$/, 'stt'],
  [/(^|_)tts_ids?$/, 'tts'],
  [/(^|_)agent_ids?$/, 'agent'],
  [/(^|_)audio_asset_id$/, 'asset'],
  [/(^|_)tool_ids?$/, 'tool'],
  [/(^|_)analysis_ids?$/, 'analysis'],
  [/(^|_)knowledge_base_ids?$/, 'knowledge_base'],
  [/(^|_)database_id$/, 'database'],
  [/(^|_)phone_number_ids?$/, 'number'],
  [/(^|_)telephony_account_id$/, 'account'],
  [/(^|_)connection_id$/, 'connection'],
  [/(^|_)credential_id$/, 'credential'],
  [/(^|_)recipient_list_ids?$/, 'list'],
  [/(^|_)timezone$/, 'zone'],
];

export function referenceKindOf(key: string): ReferenceKind | undefined {
  return ENDINGS.find(([ending]) => ending.test(key))?.[1];
}
