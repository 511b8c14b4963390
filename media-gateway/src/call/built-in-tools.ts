import type { TransferDestination } from '@parley/shared/contracts/agent-config';
import { BUILT_IN_TOOLS, type BuiltInToolName } from '@parley/shared/contracts/built-in-tools';
import { MEMORY_KINDS } from '@parley/shared/contracts/session-values';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Participant } from '../participants/participant.ts';
import type { LlmTool } from '../providers/llm/llm-provider.ts';
import type { ToolResult } from '../speech/reply.ts';
import { hasKnowledge } from './call-knowledge.ts';
import { languagesOf } from '../languages/plan-languages.ts';
import type { CallControls } from './call-tools.ts';

/** What a built-in tool reads of its call, and does to it. */
export interface BuiltInContext {
  plan: Pick<SessionPlan, 'agent' | 'channel' | 'knowledge' | 'languages' | 'system'>;
  participant: Pick<Participant, 'carrierCommands' | 'dtmfOut'>;
  controls: CallControls;
  /** A transfer that this call of the tool began has failed. @param code the carrier's, or our own */
  onTransferFailed(code: string): void;
}

/** What decides which built-in tools a call has. */
type Offered = Pick<BuiltInContext, 'plan' | 'participant'>;

export type BuiltInResult = ToolResult & { ok: boolean; code?: string };

interface BuiltIn {
  /** @returns the parts of the tool's contract that depend on the call; undefined when the call has no such tool */
  offer(context: Offered): Partial<Pick<LlmTool, 'description' | 'parameters'>> | undefined;
  run(args: Record<string, unknown>, context: BuiltInContext): BuiltInResult | Promise<BuiltInResult>;
}

const DONE: BuiltInResult = { ok: true, content: '{"ok":true}' };
const REMEMBER = BUILT_IN_TOOLS.remember.parameters.properties;
const DIGITS = new RegExp(BUILT_IN_TOOLS.send_dtmf.parameters.properties.digits.pattern);

const builtIn: Record<BuiltInToolName, BuiltIn> = {
  end_call: {
    offer: ({ plan }) => (plan.agent.config.end_call.agent_may_end ? {} : undefined),
    run(_args, { plan, controls }) {
      const { message } = plan.agent.config.end_call;
      return taken(controls.endAfterSpeech(message === '' ? undefined : message));
    },
  },
  transfer_call: {
    offer(context) {
      const destinations = destinationsOf(context);
      if (destinations.length === 0) return undefined;
      const { description, parameters } = BUILT_IN_TOOLS.transfer_call;
      const about = destinations.map((d) => `${d.id}: ${d.description}`).join('; ');
      return {
        description: `${description} Destinations: ${about}`,
        parameters: {
          ...parameters,
          properties: { destination_id: { type: 'string', enum: destinations.map((d) => d.id) } },
        },
      };
    },
    run(args, context) {
      const destination = destinationOf(args, context);
      return destination
        ? taken(context.controls.transferAfterSpeech(destination, (code) => context.onTransferFailed(code)))
        : refused('unknown_destination', 'Unknown destination: use one of those listed.');
    },
  },
  send_dtmf: {
    offer: ({ plan, participant }) =>
      plan.agent.config.dtmf.send && participant.dtmfOut !== 'none' ? {} : undefined,
    async run({ digits }, { controls }) {
      if (typeof digits !== 'string' || !DIGITS.test(digits))
        return refused('invalid_arguments', 'digits must be 1 to 32 of 0-9, A-D, * and #.');
      return (await controls.sendDtmf(digits)) ? DONE : refused('not_sent', 'The digits could not be sent.');
    },
  },
  search_knowledge: {
    offer: ({ plan }) => (hasKnowledge(plan) && plan.agent.config.knowledge.mode === 'tool' ? {} : undefined),
    async run({ query }, { controls }) {
      if (typeof query !== 'string' || query.trim() === '')
        return refused('invalid_arguments', 'query must be a text.');
      const content = await controls.searchKnowledge(query);
      return content === undefined
        ? refused('unavailable', 'The documents could not be searched. Answer without them.')
        : { ok: true, content };
    },
  },
  remember: {
    offer: ({ plan }) => (plan.agent.config.memory.write ? {} : undefined),
    run({ kind, content }, { controls }) {
      const known = MEMORY_KINDS.find((one) => one === kind);
      const text = textOf(content, REMEMBER.content.maxLength);
      if (known === undefined || text === undefined)
        return refused(
          'invalid_arguments',
          `kind must be one of ${MEMORY_KINDS.join(', ')}, content a text.`,
        );
      controls.emitTool('remember', { kind: known, content: text });
      return DONE;
    },
  },
  do_not_call: {
    offer: ({ plan }) =>
      plan.channel === 'telephony' && plan.system.caller_number !== null ? {} : undefined,
    run({ reason }, { controls }) {
      const text = textOf(reason, BUILT_IN_TOOLS.do_not_call.parameters.properties.reason.maxLength);
      if (text === undefined) return refused('invalid_arguments', 'reason must be a text.');
      controls.emitTool('do_not_call', { reason: text });
      return DONE;
    },
  },
  set_language: {
    offer({ plan }) {
      const tags = languagesOf(plan);
      if (tags.length < 2) return undefined;
      const { parameters } = BUILT_IN_TOOLS.set_language;
      return {
        parameters: {
          ...parameters,
          properties: { language: { ...parameters.properties.language, enum: tags } },
        },
      };
    },
    run({ language }, { controls }) {
      return typeof language === 'string' && controls.setLanguage(language)
        ? DONE
        : refused('unknown_language', 'Unknown language: use one of those listed.');
    },
  },
};

/** The built-in tools of a call, as the model gets them. */
export function offeredTools(context: Offered): LlmTool[] {
  return Object.entries(builtIn).flatMap(([name, tool]) => {
    const offer = tool.offer(context);
    const { description, parameters } = BUILT_IN_TOOLS[name as BuiltInToolName];
    return offer ? [{ name, description, parameters, ...offer }] : [];
  });
}

/** Runs a built-in tool. One that is not offered is refused, as the model cannot know it. */
export async function runBuiltIn(
  name: string,
  args: Record<string, unknown>,
  context: BuiltInContext,
): Promise<BuiltInResult> {
  if (!Object.hasOwn(builtIn, name)) return unknownTool(name);
  const tool = builtIn[name as BuiltInToolName];
  return tool.offer(context) ? tool.run(args, context) : unknownTool(name);
}

export function refusal(message: string): string {
  return JSON.stringify({ ok: false, error: message });
}

/** The destination that arguments of `transfer_call` name. */
export function destinationOf(
  args: Record<string, unknown>,
  context: Offered,
): TransferDestination | undefined {
  return destinationsOf(context).find(({ id }) => id === args['destination_id']);
}

/** Destinations that the caller can be brought to: other agents from everywhere, telephones by a carrier alone. */
export function destinationsOf({ plan, participant }: Offered): TransferDestination[] {
  const { destinations } = plan.agent.config.transfer;
  return destinations.filter(({ target }) => target.type === 'agent' || participant.carrierCommands);
}

/** What a model wrote, cut to size; undefined for nothing. */
function textOf(value: unknown, most: number): string | undefined {
  const text = typeof value === 'string' ? value.trim().slice(0, most).trim() : '';
  return text === '' ? undefined : text;
}

function unknownTool(name: string): BuiltInResult {
  return refused('unknown_tool', `Unknown tool ${name}.`);
}

function refused(code: string, message: string): BuiltInResult {
  return { ok: false, code, content: refusal(message) };
}

/** The result of a tool that ends or transfers the call: final, whether this request or an earlier one did it. */
function taken(refused: string | undefined): BuiltInResult {
  if (refused === undefined) return { ok: true, final: true, content: '{"ok":true}' };
  const content = refusal('The call is already ending or being transferred.');
  return { ok: false, final: true, code: refused, content };
}
