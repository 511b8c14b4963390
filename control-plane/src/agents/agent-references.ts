import type { AgentConfig, AgentConfigInput } from '@parley/shared/contracts/agent-config';
import { flowDefinitionSchema } from '@parley/shared/contracts/flow-definition';
import type { ValidationDetail } from '@parley/shared/errors/app-error';
import type { ModelCatalog, ModelKind } from '../providers/model-catalog.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import { checkFlow } from './flow-definition.ts';
import { missingReferences, referenceNotFound } from '../tenancy/references.ts';
import type { Loc, Reference } from '../tenancy/references.ts';
import type { Scope } from '../tenancy/scope.ts';
import { agentCollection } from './agent-model.ts';
import type { AgentContent } from './agent-record.ts';

/** Records of other features that an agent may name. */
export interface NamedRecords {
  readonly tool: Collection<StoredRecord & { type: string }>;
  readonly knowledge_base: Collection<StoredRecord>;
  readonly phone_number: Collection<StoredRecord>;
  readonly audio_asset: Collection<StoredRecord & { status: string }>;
}

/** The part of an agent that names other records. */
type NamingContent = Pick<
  AgentContent,
  'llm_id' | 'stt_id' | 'tts_id' | 'tts_voice_id' | 'config' | 'flow_definition'
>;

/**
 * Everything that an agent names must exist where it lives, and its models must be usable.
 * @param before content that was accepted earlier: its models may meanwhile be switched off
 */
export async function checkContent(
  scope: Scope,
  models: ModelCatalog,
  records: NamedRecords,
  content: NamingContent,
  config: AgentConfig,
  before?: NamingContent,
): Promise<ValidationDetail[]> {
  const named: { kind: ModelKind; id: string; loc: Loc; unchanged?: boolean }[] = [
    {
      kind: 'llm',
      id: content.llm_id,
      loc: ['body', 'llm_id'],
      unchanged: before?.llm_id === content.llm_id,
    },
    {
      kind: 'stt',
      id: content.stt_id,
      loc: ['body', 'stt_id'],
      unchanged: before?.stt_id === content.stt_id,
    },
    {
      kind: 'tts',
      id: content.tts_id,
      loc: ['body', 'tts_id'],
      unchanged: before?.tts_id === content.tts_id,
    },
    ...config.llm.fallback_llm_ids.map((id, i) => model('llm', id, ['llm', 'fallback_llm_ids', i])),
    ...config.stt.fallback_stt_ids.map((id, i) => model('stt', id, ['stt', 'fallback_stt_ids', i])),
    ...config.tts.fallback_voices.map((voice, i) =>
      model('tts', voice.tts_id, ['tts', 'fallback_voices', i, 'tts_id']),
    ),
    ...Object.entries(config.language.voices).flatMap(([tag, voice]) => [
      ...(voice.stt_id === undefined
        ? []
        : [model('stt', voice.stt_id, ['language', 'voices', tag, 'stt_id'])]),
      ...(voice.tts_id === undefined
        ? []
        : [model('tts', voice.tts_id, ['language', 'voices', tag, 'tts_id'])]),
    ]),
    ...(config.analysis.llm_id === null
      ? []
      : [model('llm', config.analysis.llm_id, ['analysis', 'llm_id'])]),
  ];
  const { primary, additional, voices } = config.language;
  const misplaced = [
    ...additional.flatMap((tag, i) =>
      tag === primary || additional.indexOf(tag) < i
        ? [
            {
              loc: ['body', 'config', 'language', 'additional', i],
              msg: 'is a language of the agent already',
            },
          ]
        : [],
    ),
    ...Object.keys(voices).flatMap((tag) =>
      additional.includes(tag)
        ? []
        : [{ loc: ['body', 'config', 'language', 'voices', tag], msg: 'must be one of language.additional' }],
    ),
  ];
  const flow = content.flow_definition === null ? null : checkFlow(content.flow_definition, config);
  for (const { kind, id, loc } of flow?.references ?? []) if (kind === 'llm') named.push({ kind, id, loc });
  const details: ValidationDetail[] = misplaced.map((one) => ({ ...one, type: 'value_error' }));
  if (flow) details.push(...flow.details);
  for (const { kind, id, loc, unchanged } of named) {
    if (unchanged) continue;
    const found = await models.find(scope.orgId, id, scope.projectIdOrNull);
    if (!found || found.kind !== kind) details.push(referenceNotFound(loc));
    else if (found.status !== 'available') {
      details.push({
        loc: [...loc],
        msg: 'is a model without credentials, or one that is disabled',
        type: 'not_available',
      });
    }
  }
  for (const { ttsId, voiceId, loc } of namedVoices(content, config, before)) {
    // A model that is not there is told of already.
    const tts = await models.find(scope.orgId, ttsId, scope.projectIdOrNull);
    if (tts?.kind !== 'tts') continue;
    if (!(await models.hasVoice(scope.orgId, ttsId, voiceId, scope.projectIdOrNull))) {
      details.push(referenceNotFound(loc));
    }
  }
  if (flow) details.push(...(await serversInFlow(scope, records, flow.references)));
  const led = ledTo(content.flow_definition, config);
  const ledBefore = ledTo(before?.flow_definition ?? null, before?.config);
  details.push(...(await archivedAgents(scope, led, ledBefore)), ...unboundedTargets(led, ledBefore));
  details.push(...warmHandOvers(led));
  const references: Reference[] = config.transfer.destinations.flatMap((destination, i) =>
    destination.target.type === 'agent'
      ? [
          {
            collection: agentCollection,
            id: destination.target.agent_id,
            loc: ['body', 'config', 'transfer', 'destinations', i, 'target', 'agent_id'],
          },
        ]
      : [],
  );
  const audio = [
    { id: config.greeting.audio_asset_id, loc: ['body', 'config', 'greeting', 'audio_asset_id'] },
    {
      id: config.background_audio.audio_asset_id,
      loc: ['body', 'config', 'background_audio', 'audio_asset_id'],
    },
    ...config.transfer.destinations.map((destination, i) => ({
      id: destination.hold_audio_asset_id,
      loc: ['body', 'config', 'transfer', 'destinations', i, 'hold_audio_asset_id'],
    })),
  ];
  for (const { id, loc } of audio)
    if (id !== null) references.push({ collection: records.audio_asset, id, loc });
  for (const part of ['greeting', 'background_audio'] as const) {
    const { audio_asset_id: id } = config[part];
    if (id === null || id === before?.config[part]?.audio_asset_id) continue;
    if (await scope.collection(records.audio_asset).findOne({ _id: id, status: 'failed' })) {
      details.push({
        loc: ['body', 'config', part, 'audio_asset_id'],
        msg: 'is an audio asset that could not be made ready: upload another one',
        type: 'not_available',
      });
    }
  }
  const { phone_number_id: phoneNumberId } = config.telephony;
  if (phoneNumberId !== null) {
    const loc = ['body', 'config', 'telephony', 'phone_number_id'];
    references.push({ collection: records.phone_number, id: phoneNumberId, loc });
  }
  for (const { kind, id, loc } of flow?.references ?? []) {
    if (
      kind === 'audio_asset' &&
      (await scope.collection(records.audio_asset).findOne({ _id: id, status: 'failed' }))
    )
      details.push({
        loc: [...loc],
        msg: 'is an audio asset that could not be made ready: upload another one',
        type: 'not_available',
      });
    if (kind !== 'llm')
      references.push({ collection: kind === 'agent' ? agentCollection : records[kind], id, loc });
  }
  return [...details, ...(await missingReferences(scope, references))];
}

/** Servers of many tools (MCP) that nodes are to run as if they were one. */
async function serversInFlow(
  scope: Scope,
  { tool }: NamedRecords,
  references: readonly { kind: string; id: string; loc: Loc }[],
): Promise<ValidationDetail[]> {
  const run = references.filter(({ kind, loc }) => kind === 'tool' && loc.at(-1) === 'tool_id');
  if (run.length === 0) return [];
  const filter = { _id: { $in: run.map(({ id }) => id) }, type: 'mcp' };
  const servers = await scope.collection(tool).find(filter, { limit: run.length });
  return run
    .filter(({ id }) => servers.some(({ _id }) => _id === id))
    .map(({ loc }) => ({
      loc: [...loc],
      msg: 'is an MCP server, which has several tools: let a conversation node use it',
      type: 'not_available',
    }));
}

/** As it was sent, or stored. */
type Destination = NonNullable<NonNullable<AgentConfigInput['transfer']>['destinations']>[number];

/** Whom calls are brought to: a destination of the config or of a node, or an agent that a node names. */
interface Led {
  loc: Loc;
  destination?: Destination;
  agentId?: string;
}

/** @param flow as it was sent: one that is no flow leads nowhere */
function ledTo(flow: unknown, config: Pick<AgentConfigInput, 'transfer'> | undefined): Led[] {
  const parsed = flowDefinitionSchema.safeParse(flow);
  const nodes = parsed.success ? parsed.data.nodes : [];
  const ofConfig = config?.transfer?.destinations ?? [];
  const places: [Destination, Loc][] = [
    ...ofConfig.map((one, i): [Destination, Loc] => [one, ['config', 'transfer', 'destinations', i]]),
    ...nodes.flatMap((one, i): [Destination, Loc][] =>
      one.type === 'transfer' && one.destination
        ? [[one.destination, ['flow_definition', 'nodes', i, 'destination']]]
        : [],
    ),
  ];
  return [
    ...places.map(([destination, place]): Led => {
      const { target } = destination;
      return {
        loc: ['body', ...place],
        destination,
        ...(target.type === 'agent' ? { agentId: target.agent_id } : {}),
      };
    }),
    ...nodes.flatMap((one, i): Led[] =>
      one.type === 'agent' ? [{ loc: ['body', 'flow_definition', 'nodes', i], agentId: one.agent_id }] : [],
    ),
  ];
}

/** Agents that calls are to be handed over to, and that are archived. */
async function archivedAgents(
  scope: Scope,
  led: readonly Led[],
  before: readonly Led[],
): Promise<ValidationDetail[]> {
  const known = new Set(before.map(({ agentId }) => agentId));
  const named = led.filter(({ agentId }) => agentId !== undefined && !known.has(agentId));
  if (named.length === 0) return [];
  const archived = await scope
    .collection(agentCollection)
    .find(
      { _id: { $in: named.map(({ agentId }) => agentId!) }, archived_at: { $ne: null } },
      { limit: named.length },
    );
  return named
    .filter(({ agentId }) => archived.some(({ _id }) => _id === agentId))
    .map(({ loc, destination }) => ({
      loc: [...loc, ...(destination ? ['target', 'agent_id'] : ['agent_id'])],
      msg: 'is an agent that is archived: restore it first',
      type: 'not_available',
    }));
}

/** Variables that could lead to any number at all: such a call would not be made. */
function unboundedTargets(led: readonly Led[], before: readonly Led[]): ValidationDetail[] {
  return led.flatMap(({ loc, destination }) => {
    const target = destination?.target;
    if (target?.type !== 'variable') return [];
    const bounds = [...(target.allowed_numbers ?? []), ...(target.allowed_prefixes ?? [])];
    const same = before.some(
      ({ destination: old }) => old?.id === destination!.id && old.target.type === 'variable',
    );
    if (bounds.length > 0 || same) return [];
    return [
      {
        loc: [...loc, 'target'],
        msg: 'must say which numbers the variable may hold: allowed_numbers or allowed_prefixes',
        type: 'missing',
      },
    ];
  });
}

/** An agent goes on with the call at once: nobody is called, or told of anything first. */
function warmHandOvers(led: readonly Led[]): ValidationDetail[] {
  return led.flatMap(({ loc, destination }) =>
    destination?.mode === 'warm' && destination.target.type === 'agent'
      ? [
          {
            loc: [...loc, 'mode'],
            msg: 'must be "blind" where the target is an agent',
            type: 'not_available',
          },
        ]
      : [],
  );
}

/** Voices, each with the TTS model that is to speak with it. */
function namedVoices(
  content: NamingContent,
  config: AgentConfig,
  before: NamingContent | undefined,
): { ttsId: string; voiceId: string; loc: Loc }[] {
  const { tts_id: ttsId, tts_voice_id: voiceId } = content;
  const unchanged = before?.tts_id === ttsId && before.tts_voice_id === voiceId;
  const nodes = (content.flow_definition?.['nodes'] ?? []) as { overrides?: { tts_voice_id?: unknown } }[];
  const named: { ttsId: string; voiceId: unknown; loc: Loc }[] = [
    { ttsId, voiceId: unchanged ? null : voiceId, loc: ['body', 'tts_voice_id'] },
    ...config.tts.fallback_voices.map((voice, i) => ({
      ttsId: voice.tts_id,
      voiceId: voice.tts_voice_id,
      loc: ['body', 'config', 'tts', 'fallback_voices', i, 'tts_voice_id'],
    })),
    ...Object.entries(config.language.voices).map(([tag, voice]) => ({
      ttsId: voice.tts_id ?? ttsId,
      voiceId: voice.tts_voice_id,
      loc: ['body', 'config', 'language', 'voices', tag, 'tts_voice_id'],
    })),
    ...(Array.isArray(nodes) ? nodes : []).map((node, i) => ({
      ttsId,
      voiceId: node?.overrides?.tts_voice_id,
      loc: ['body', 'flow_definition', 'nodes', i, 'overrides', 'tts_voice_id'],
    })),
  ];
  return named.filter((one): one is typeof one & { voiceId: string } => typeof one.voiceId === 'string');
}

function model(kind: ModelKind, id: string, loc: Loc): { kind: ModelKind; id: string; loc: Loc } {
  return { kind, id, loc: ['body', 'config', ...loc] };
}
