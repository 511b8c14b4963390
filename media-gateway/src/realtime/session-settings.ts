import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { LlmTool } from '../providers/llm/llm-provider.ts';
import type { SessionUpdate } from './client-events.ts';
import { parseWireFormat, wireFormatsOf } from './wire-format.ts';
import type { WireFormat } from './wire-format.ts';

const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const MAX_TOOL_BYTES = 65_536;

interface ServerVad {
  type: 'server_vad';
  threshold: number;
  prefix_padding_ms: number;
  silence_duration_ms: number;
  idle_timeout_ms: number | null;
  create_response: boolean;
  interrupt_response: boolean;
}

interface SemanticVad {
  type: 'semantic_vad';
  eagerness: 'low' | 'medium' | 'high' | 'auto';
  create_response: boolean;
  interrupt_response: boolean;
}

/** What a client may not say in `session.update`: the event is refused with this. */
export class InvalidSettingError extends Error {
  readonly param: string;

  constructor(param: string, message: string) {
    super(message);
    this.name = 'InvalidSettingError';
    this.param = param;
  }
}

/**
 * The session as the client sees it. Prompt and models are the agent's: what a client says of them is ignored, and
 * what is in force is sent back. Of the rest only what the plan allows changes.
 */
export class SessionSettings {
  readonly #plan: SessionPlan;
  readonly #expiresAt: number;
  #input: WireFormat;
  #output: WireFormat;
  #turnDetection: ServerVad | SemanticVad | null;
  #chosenVoice: string | undefined;
  readonly #voices: ReadonlySet<string>;
  #tools: LlmTool[] = [];
  #toolChoice: 'auto' | 'none' = 'auto';
  #textOnly = false;
  /** Settings that are sent back unchanged; nothing depends on them. */
  readonly #echoed: {
    transcription: unknown;
    noise_reduction: unknown;
    tracing: unknown;
  } = { transcription: { model: 'agent' }, noise_reduction: null, tracing: null };

  /** @param nowMs since the epoch, when the session begins */
  constructor(plan: SessionPlan, nowMs: number) {
    this.#plan = plan;
    const { input, output } = wireFormatsOf(plan);
    this.#input = input;
    this.#output = output;
    const [tts] = plan.tts;
    // The agent's own for its languages, as far as the same model speaks them.
    const others = Object.values(plan.agent.config.language.voices)
      .filter((one) => one.tts_id === undefined || one.tts_id === tts?.id)
      .flatMap((one) => one.tts_voice_id ?? []);
    this.#voices = new Set([...(tts?.voice === undefined ? [] : [tts.voice]), ...others]);
    this.#expiresAt = Math.floor(nowMs / 1000) + plan.limits.max_duration_seconds;
    this.#textOnly = plan.text_only;
    // Without a voice there are no turns to detect, and no silence to break.
    this.#turnDetection = plan.text_only ? null : this.#serverVad({});
  }

  get inputFormat(): WireFormat {
    return this.#input;
  }

  get outputFormat(): WireFormat {
    return this.#output;
  }

  /** The provider's own id. */
  get voice(): string {
    return this.#chosenVoice ?? this.#plan.tts[0]?.voice ?? 'default';
  }

  /** The voice that the client asked for and got. */
  get chosenVoice(): string | undefined {
    return this.#chosenVoice;
  }

  /** Whether answers are text only. */
  get textOnly(): boolean {
    return this.#textOnly;
  }

  /** Tools that the client runs. */
  get tools(): readonly LlmTool[] {
    return this.#toolChoice === 'none' ? [] : this.#tools;
  }

  /** The turn detection of the call. */
  get turns(): { respond: boolean; interrupt: boolean; listen: boolean } {
    const detection = this.#turnDetection;
    if (!detection) return { respond: false, interrupt: false, listen: false };
    return {
      respond: detection.create_response,
      interrupt: detection.interrupt_response,
      listen: true,
    };
  }

  /** Milliseconds before a voice that count as part of it. */
  get prefixPaddingMs(): number {
    return this.#turnDetection?.type === 'server_vad' ? this.#turnDetection.prefix_padding_ms : 300;
  }

  /**
   * Takes over what is there and allowed; what is absent stays, `null` and `[]` clear.
   * @throws InvalidSettingError and changes nothing then
   */
  apply(update: SessionUpdate): void {
    const { client_overrides: allowed } = this.#plan.limits;
    const tools =
      update.tools !== undefined && allowed.includes('tools') ? parseTools(update.tools ?? []) : this.#tools;
    const { input, output } = update.audio ?? {};
    this.#tools = tools;
    if (update.tool_choice !== undefined) this.#toolChoice = update.tool_choice === 'none' ? 'none' : 'auto';
    // Never both: audio comes with its transcript.
    const modalities = update.output_modalities;
    if (modalities) this.#textOnly = modalities.includes('text') && !modalities.includes('audio');
    this.#input = parseWireFormat(input?.format) ?? this.#input;
    this.#output = parseWireFormat(output?.format) ?? this.#output;
    const wantedVoice = output?.voice;
    const voice =
      typeof wantedVoice === 'object' ? (wantedVoice as { id?: unknown } | null)?.id : wantedVoice;
    if (typeof voice === 'string' && this.#voices.has(voice) && allowed.includes('voice'))
      this.#chosenVoice = voice;
    if (input?.turn_detection !== undefined && allowed.includes('turn_detection')) {
      const wanted = input.turn_detection;
      this.#turnDetection =
        wanted === null
          ? null
          : wanted.type === 'semantic_vad'
            ? this.#semanticVad(wanted)
            : this.#serverVad(wanted);
    }
    if (input?.transcription !== undefined) this.#echoed.transcription = input.transcription;
    if (input?.noise_reduction !== undefined) this.#echoed.noise_reduction = input.noise_reduction;
    if (update['tracing'] !== undefined) this.#echoed.tracing = update['tracing'];
  }

  /** The session object, all fields present (section "Session" of the protocol). */
  toSession(): object {
    const plan = this.#plan;
    return {
      id: `sess_${plan.session_id}`,
      object: 'realtime.session',
      type: 'realtime',
      model: plan.agent.agent_id ?? 'agent',
      output_modalities: [this.#textOnly ? 'text' : 'audio'],
      // The agent's own stay with the agent.
      instructions: '',
      tools: this.#tools.map((tool) => ({ type: 'function', ...tool })),
      tool_choice: this.#toolChoice,
      parallel_tool_calls: true,
      max_output_tokens: plan.agent.config.llm.max_output_tokens,
      truncation: 'auto',
      tracing: this.#echoed.tracing,
      prompt: null,
      include: null,
      expires_at: this.#expiresAt,
      audio: {
        input: {
          format: this.#input,
          noise_reduction: this.#echoed.noise_reduction,
          transcription: this.#echoed.transcription,
          turn_detection: this.#turnDetection,
        },
        output: { format: this.#output, voice: this.voice, speed: plan.agent.config.tts.speed },
      },
    };
  }

  #serverVad(wanted: TurnDetectionUpdate): ServerVad {
    return {
      type: 'server_vad',
      threshold: wanted.threshold ?? this.#plan.agent.config.turn_taking.vad_threshold,
      prefix_padding_ms: wanted.prefix_padding_ms ?? 300,
      silence_duration_ms: wanted.silence_duration_ms ?? 500,
      idle_timeout_ms: wanted.idle_timeout_ms ?? null,
      ...this.#responses(wanted),
    };
  }

  #semanticVad(wanted: TurnDetectionUpdate): SemanticVad {
    const { eagerness } = wanted;
    return {
      type: 'semantic_vad',
      eagerness: eagerness === 'low' || eagerness === 'medium' || eagerness === 'high' ? eagerness : 'auto',
      ...this.#responses(wanted),
    };
  }

  /** An agent that nobody may interrupt stays so. Clients must know: without it they cancel by themselves. */
  #responses(wanted: TurnDetectionUpdate): { create_response: boolean; interrupt_response: boolean } {
    return {
      create_response: wanted.create_response ?? true,
      interrupt_response: (wanted.interrupt_response ?? true) && this.#plan.agent.config.interruption.enabled,
    };
  }
}

type TurnDetectionUpdate = NonNullable<
  NonNullable<NonNullable<SessionUpdate['audio']>['input']>['turn_detection']
>;

/** Function tools; other kinds (MCP) run at OpenAI, not here, and are left out. */
function parseTools(list: readonly unknown[]): LlmTool[] {
  const tools: LlmTool[] = [];
  for (const [index, entry] of list.entries()) {
    const tool = entry as {
      type?: unknown;
      name?: unknown;
      description?: unknown;
      parameters?: unknown;
    } | null;
    const param = `session.tools[${index}]`;
    if (typeof tool !== 'object' || tool === null)
      throw new InvalidSettingError(param, 'A tool must be an object.');
    if (tool.type !== 'function') continue;
    if (typeof tool.name !== 'string' || !TOOL_NAME.test(tool.name))
      throw new InvalidSettingError(
        `${param}.name`,
        'A tool name must have 1 to 64 letters, digits, "_" or "-".',
      );
    const parameters = tool.parameters ?? { type: 'object', properties: {} };
    if (typeof parameters !== 'object' || Array.isArray(parameters))
      throw new InvalidSettingError(`${param}.parameters`, 'Parameters must be a JSON Schema object.');
    if (JSON.stringify(parameters).length > MAX_TOOL_BYTES)
      throw new InvalidSettingError(`${param}.parameters`, 'Parameters must be at most 64 KiB of JSON.');
    if (tools.some((known) => known.name === tool.name))
      throw new InvalidSettingError(`${param}.name`, 'Tool names must be unique.');
    tools.push({
      name: tool.name,
      description: typeof tool.description === 'string' ? tool.description.slice(0, 4096) : '',
      parameters: parameters as Record<string, unknown>,
    });
  }
  return tools;
}
