import { parseWav } from '@parley/shared/audio/wav';
import { withTimeout } from '@parley/shared/async/timeout';
import { Scope } from '@parley/control-plane/tenancy/scope';
import type { Script } from '@parley/emulators/providers/openai/script';
import { parseScript } from '@parley/emulators/providers/openai/script';
import { textOf } from '@parley/emulators/providers/openai/chat-request';
import type { ChatRequest } from '@parley/emulators/providers/openai/chat-request';
import type { CallOrder } from '../demonstration/call-order.ts';
import type { DemonstrationPlatform } from '../demonstration/demonstration-platform.ts';
import { findSession } from '../demonstration/follow-call.ts';
import { waitForPostCall } from '../demonstration/follow-session.ts';
import type { SessionEvent } from '../demonstration/follow-session.ts';
import type { RestClient } from '../demonstration/rest-client.ts';
import { insertNumber } from '../demonstration/set-up.ts';
import { checkFact } from './conversation-facts.ts';
import type { CheckedFact, Evidence } from './conversation-facts.ts';
import type { Conversation, ConversationAgent } from './conversation-file.ts';
import type { ToolAddresses } from './tool-addresses.ts';

export interface ConversationResult {
  name: string;
  title: string;
  ok: boolean;
  facts: CheckedFact[];
  /** Why there was no conversation to check; null: there was. */
  error: string | null;
  duration_ms: number;
  session_id: string | null;
  turns: Evidence['turns'];
}

/** No conversation of a file is longer. */
const CALL_LIMIT_MS = 180_000;
const POST_CALL_LIMIT_MS = 30_000;
const READY_LIMIT_MS = 30_000;
const READY_POLL_MS = 100;

/** Holds conversations of files, as many at once as are asked for, on one demonstration platform. */
export class ConversationRunner {
  readonly #running: DemonstrationPlatform;
  readonly #tools: ToolAddresses;
  #count = 0;

  constructor(deps: { running: DemonstrationPlatform; tools: ToolAddresses }) {
    this.#running = deps.running;
    this.#tools = deps.tools;
  }

  /** Runs all, `jobs` at once. @param onResult told each as it is over */
  async runAll(
    conversations: readonly Conversation[],
    options: { jobs: number; signal: AbortSignal; onResult?: (result: ConversationResult) => void },
  ): Promise<ConversationResult[]> {
    const results: ConversationResult[] = [];
    let next = 0;
    const work = async () => {
      while (next < conversations.length && !options.signal.aborted) {
        const result = await this.run(conversations[next++]!, options.signal);
        results.push(result);
        options.onResult?.(result);
      }
    };
    await Promise.all(Array.from({ length: options.jobs }, work));
    options.signal.throwIfAborted();
    return results;
  }

  /** Holds one conversation, and checks what is expected of it. */
  async run(conversation: Conversation, signal: AbortSignal): Promise<ConversationResult> {
    const { name, title } = conversation;
    const startedAt = performance.now();
    const number = this.#count++;
    const marker = `[conversation ${number} ${name}]`;
    const openai = this.#running.platform.emulators.openai;
    if (!openai) throw new Error('Conversations need the emulated language model: unset OPENAI_API_KEY.');
    const requests: ChatRequest[] = [];
    const forget = openai.teach(rulesOf(conversation, marker));
    const unwatch = openai.watch((request) => {
      if (request.response_format === undefined && systemOf(request).includes(marker)) requests.push(request);
    });
    const known = { name, title, session_id: null, turns: [] };
    const durationMs = () => Math.round(performance.now() - startedAt);
    try {
      const evidence = await this.#hold(conversation, { number, marker, requests, signal });
      const facts = conversation.expect.map((fact) => checkFact(fact, evidence));
      return {
        ...{ ...known, ok: facts.every(({ ok }) => ok), facts, error: null, duration_ms: durationMs() },
        ...{ session_id: evidence.session['session_id'] as string, turns: evidence.turns },
      };
    } catch (cause) {
      signal.throwIfAborted();
      const error = cause instanceof Error ? cause.message : String(cause);
      return { ...known, ok: false, facts: [], error, duration_ms: durationMs() };
    } finally {
      unwatch();
      forget();
    }
  }

  async #hold(
    conversation: Conversation,
    run: { number: number; marker: string; requests: readonly ChatRequest[]; signal: AbortSignal },
  ): Promise<Evidence> {
    const { rest, orgId, projectId } = this.#running.demonstration;
    const agentId = await this.#makeAgent(conversation, run);
    // A line of its own, whose last digits say what its telephone does.
    const ending = conversation.outbound?.to_ending;
    const from = `+1415${String(6000 + (run.number % 4000))}${ending ?? '000'}`;
    const { events, session, sessionId } = await this.#call(conversation, { ...run, agentId, from });
    const transcript = await rest.get<{ items: Evidence['turns'] }>(`/v1/sessions/${sessionId}/transcript`);
    const ids: Record<string, string> = {
      ...{ org_id: orgId, project_id: projectId, agent_id: agentId, session_id: sessionId },
      from: encodeURIComponent(from),
    };
    const fetched: Record<string, unknown> = {};
    for (const fact of conversation.expect)
      if ('get' in fact)
        fetched[fact.get] = await rest.get(
          fact.get.replace(/\{(\w+)\}/g, (all, key: string) => ids[key] ?? all),
        );
    const listens = conversation.expect.some(
      (fact) => 'recording_silent' in fact || 'recording_audible' in fact,
    );
    const audio = listens ? await this.#recordingOf(session) : null;
    return {
      ...{ turns: transcript.items, events, session, fetched, audio },
      llm: run.requests.flatMap(({ messages }) => messages.map((one) => `${one.role}: ${textOf(one)}`)),
      tools: conversation.tools.flatMap(({ name }) =>
        this.#tools.asked(toolId(run.number, name)).map((given) => ({ name, arguments: given })),
      ),
    };
  }

  async #call(
    { carrier, noise, outbound, caller }: Conversation,
    run: { number: number; agentId: string; from: string; signal: AbortSignal },
  ): Promise<{ events: SessionEvent[]; session: Record<string, unknown>; sessionId: string }> {
    const { desk, demonstration } = this.#running;
    const { rest, orgId, projectId } = demonstration;
    const common = { carrier, steps: caller, ...(noise === undefined ? {} : { noise }) };
    const order: CallOrder = outbound
      ? {
          ...common,
          ...{ outbound: true, no_hello: outbound.no_hello, variables: outbound.variables },
          ...{ agent_id: run.agentId, to: run.from },
        }
      : { ...common, from: run.from, to: await this.#numberOf(run.agentId, carrier, run.number) };
    const { outcome, ...placed } = await desk.place(order);
    outcome.catch(() => {});
    const { signal } = run;
    const sessionId = placed.session_id ?? (await findSession({ rest, orgId, projectId, placed, signal }));
    // A call may have several legs: it is over when its telephone says so.
    await withTimeout(outcome, CALL_LIMIT_MS, 'The call', signal);
    const session = await waitForPostCall<{ status: string } & Record<string, unknown>>(
      rest,
      sessionId,
      POST_CALL_LIMIT_MS,
      signal,
    );
    return { events: await eventsOf(rest, sessionId), session, sessionId };
  }

  async #recordingOf(session: Record<string, unknown>): Promise<Evidence['audio']> {
    const id = (session['detail'] as { recording_id?: string | null } | undefined)?.recording_id;
    if (!id) return null;
    return parseWav(await this.#running.demonstration.rest.bytes(`/v1/recordings/${id}/content`));
  }

  /** A number that this agent alone answers. */
  async #numberOf(
    agentId: string,
    carrier: keyof DemonstrationPlatform['demonstration']['lines'],
    n: number,
  ) {
    const { demonstration, platform } = this.#running;
    const { orgId, projectId, lines } = demonstration;
    const line = lines[carrier];
    if (!line) throw new Error(`The platform has no emulated ${carrier} line.`);
    const scope = new Scope(platform.controlPlane.services.database, {
      ...{ orgId, projectId, projects: null, role: 'owner' },
    });
    const number = `+1415558${String(n % 10_000).padStart(4, '0')}`;
    await insertNumber(scope, { carrier, number, agentId, accountId: line.telephonyAccountId });
    return number;
  }

  async #makeAgent(
    { name, agent, second_agent: second, tools, knowledge }: Conversation,
    { number, marker }: { number: number; marker: string },
  ): Promise<string> {
    const { rest, orgId, projectId } = this.#running.demonstration;
    const make = async (agent: ConversationAgent, title: string, config: object) => {
      const { flow_definition: _, ...body } = agent;
      const made = await rest.post<{ id: string }>(`/v1/orgs/${orgId}/projects/${projectId}/agents`, {
        ...body,
        name: title,
        system_prompt: `${body.system_prompt}\n${marker}`,
        // What follows a call is another matter, unless the file asks for it.
        config: { analysis: { lead_analysis: false }, ...config },
      });
      return made.id;
    };
    const title = `${name} ${number}`;
    const secondId = second && (await make(second, `${title} second`, second.config));
    const config = JSON.parse(
      JSON.stringify(agent.config).replaceAll('"$second_agent"', JSON.stringify(secondId ?? null)),
    ) as object;
    const agentId = await make(agent, title, config);
    let flow = agent.flow_definition && JSON.stringify(agent.flow_definition);
    for (const tool of tools) {
      const id = toolId(number, tool.name);
      const { name: toolName, description, parameters, execution } = tool;
      const made = await rest.post<{ id: string }>(`/v1/orgs/${orgId}/tools`, {
        ...{ name: toolName, description, parameters, execution, type: 'webhook', project_id: projectId },
        webhook: { url: this.#tools.add(id, tool), method: 'POST' },
      });
      await rest.post(`/v1/agents/${agentId}/tools`, { tool_id: made.id });
      flow = flow?.replaceAll(`"$tool:${toolName}"`, JSON.stringify(made.id));
    }
    if (flow !== undefined)
      await rest.patch(`/v1/agents/${agentId}`, { flow_definition: JSON.parse(flow) as object });
    if (knowledge !== undefined) await this.#attachKnowledge(agentId, title, knowledge);
    return agentId;
  }

  async #attachKnowledge(agentId: string, name: string, text: string): Promise<void> {
    const { rest, orgId, projectId } = this.#running.demonstration;
    const bases = `/v1/orgs/${orgId}/projects/${projectId}/knowledge-bases`;
    const base = await rest.post<{ id: string }>(bases, { name, embedding: 'none' });
    const files = `/v1/knowledge-bases/${base.id}/files`;
    const file = await rest.post<{ id: string }>(files, { name: 'document.md', text });
    await rest.post(`/v1/agents/${agentId}/knowledge-bases`, { knowledge_base_id: base.id });
    const until = performance.now() + READY_LIMIT_MS;
    for (;;) {
      const { status } = await rest.get<{ status: string }>(`/v1/knowledge-files/${file.id}`);
      if (status === 'ready') return;
      if (status === 'error' || performance.now() > until) throw new Error(`The document is ${status}.`);
      await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
    }
  }
}

async function eventsOf(rest: RestClient, sessionId: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for (;;) {
    const after = events.length === 0 ? '' : `&after_index=${events.at(-1)!.index}`;
    const { items } = await rest.get<{ items: SessionEvent[] }>(
      `/v1/sessions/${sessionId}/events?limit=200${after}`,
    );
    events.push(...items);
    if (items.length === 0) return events;
  }
}

/** Of this run alone. */
function toolId(number: number, name: string): string {
  return `${number}-${name}`;
}

function systemOf({ messages }: ChatRequest): string {
  return messages
    .filter(({ role }) => role === 'system' || role === 'developer')
    .map(textOf)
    .join('\n');
}

/** The rules of a file, for its agents alone, and what they answer where none holds. */
function rulesOf({ llm }: Conversation, marker: string): Script['rules'] {
  const { rules } = parseScript({
    rules: [
      { when: { after_tool: '*' }, reply: { text: 'Done.' } },
      { when: {}, reply: { text: 'Pardon?' } },
    ],
  });
  return [...llm, ...rules].map((rule) => ({
    ...rule,
    when: { ...rule.when, system: marked(marker, rule.when.system) },
  }));
}

/** Holds for prompts with this marker and, where there is one, the wording that the file asks for. */
function marked(marker: string, wanted: Script['rules'][number]['when']['system']): RegExp {
  const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const own = wanted instanceof RegExp ? wanted.source : [wanted ?? []].flat().map(escaped).join('|');
  return new RegExp(`^(?=[^]*${escaped(marker)})(?=[^]*(?:${own}))`, 'i');
}
