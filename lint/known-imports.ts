// What breaks a rule of import-rules.ts today. Nothing is added here: what is mended is taken out, until nothing is left.

/** Features that import each other, by way of others or not. */
export const knownFeatureCycles: readonly string[] = [
  'calls > carriers',
  'carriers > calls',
  'carriers > telephony',
  'identity > members',
  'identity > orgs',
  'members > identity',
  'orgs > members',
  'post-call > webhooks',
  'projects > providers',
  'providers > projects',
  'telephony > calls',
  'telephony > carriers',
  'webhooks > post-call',
];

/** Imports of another feature's model, schema or routes. */
export const knownFeatureInternals: readonly string[] = [
  'admissions > sessions/session-model.ts',
  'admissions > ws-tickets/ws-ticket-model.ts',
  'agent-tests > agents/agent-model.ts',
  'agent-tests > sessions/session-model.ts',
  'agent-tests > sessions/session-schema.ts',
  'agent-tests > tools/tool-model.ts',
  'calls > sessions/session-model.ts',
  'carriers > sessions/session-model.ts',
  'carriers > telephony/telephony-account-model.ts',
  'identity > members/member-model.ts',
  'members > projects/project-model.ts',
  'memories > agents/agent-model.ts',
  'memories > sessions/session-model.ts',
  'orgs > members/member-model.ts',
  'post-call > analyses/analysis-model.ts',
  'post-call > recordings/recording-routes.ts',
  'post-call > sessions/session-model.ts',
  'providers > projects/project-model.ts',
  'rate-limits > projects/project-model.ts',
  'recordings > sessions/session-model.ts',
  'sessions > orgs/org-model.ts',
  'sessions > projects/project-model.ts',
  'telephony > agents/agent-model.ts',
  'telephony > sessions/session-schema.ts',
  'tools > agents/agent-schema.ts',
  'tools > projects/project-model.ts',
  'webhooks > agents/agent-model.ts',
  'widget > sessions/session-schema.ts',
];

/** Vendors' names outside their own files. */
export const knownVendorNames: readonly string[] = [
  'control-plane/src/voices/voice-catalog.ts: elevenlabs',
  'control-plane/src/voices/voice-lookup.ts: elevenlabs',
  'control-plane/src/voices/voice-service.ts: elevenlabs',
  'control-plane/src/voices/voice-speech.ts: elevenlabs',
];
