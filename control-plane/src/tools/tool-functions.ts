import type { z } from 'zod';
import { planToolSchema } from '@parley/shared/contracts/session-plan';
import type { ToolCallRequest } from '@parley/shared/contracts/tool-calls';
import { AppError, NotFoundError } from '@parley/shared/errors/app-error';
import type { ToolOutcome, ToolRunner } from '@parley/shared/tools/tool-runner';
import { parseArguments } from '@parley/shared/tools/webhook-tool';
import type { AppActions } from '../app-connections/app-actions.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import { invalid } from '../http/validation.ts';
import type { AnalysisTool, AnalysisTools } from '../post-call/tool-analysis.ts';
import type { SessionAgent, SessionTools } from '../sessions/session-agent.ts';
import type { Database } from '../storage/database.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { McpTools } from './mcp-tools.ts';
import { planTools } from './plan-tools.ts';
import type { WireTool } from './plan-tools.ts';
import { toolCollection } from './tool-model.ts';
import type { ToolRecord } from './tool-model.ts';
import type { testToolRequest } from './tool-schema.ts';
import { openSecrets } from './tool-secrets.ts';
import { testTool } from './tool-tests.ts';
import type { ToolTestResult } from './tool-tests.ts';

/** Versions of agents: `StoredAgents`. */
export interface ToolAgents {
  contentOf(
    agentId: string,
    version: number,
  ): Promise<{ tools: readonly { id: string; enabled: boolean }[] } | null>;
}

/** How often tools may run: `ToolCallLimits`. */
export interface ToolCallCounter {
  /** @throws TooManyRequestsError */
  count(orgId: string, projectId: string | null): Promise<void>;
}

/** The functions that tools are to a model, and what runs them. */
export class ToolFunctions implements SessionTools, AnalysisTools {
  readonly #database: Database;
  readonly #agents: ToolAgents;
  readonly #box: SecretBox;
  readonly #runner: ToolRunner;
  readonly #mcp: McpTools;
  readonly #apps: Pick<AppActions, 'run'>;
  readonly #limits: ToolCallCounter;

  constructor(deps: {
    database: Database;
    agents: ToolAgents;
    box: SecretBox;
    /** Of webhooks. */
    runner: ToolRunner;
    mcp: McpTools;
    apps: Pick<AppActions, 'run'>;
    toolCallLimits: ToolCallCounter;
  }) {
    this.#database = deps.database;
    this.#agents = deps.agents;
    this.#box = deps.box;
    this.#runner = deps.runner;
    this.#mcp = deps.mcp;
    this.#apps = deps.apps;
    this.#limits = deps.toolCallLimits;
  }

  /**
   * Tries a tool, enabled or not.
   * @throws ValidationError without the name of a server's tool, or with that of another; TooManyRequestsError; the
   *   reason of `signal`
   */
  async test(
    tool: ToolRecord,
    request: z.output<typeof testToolRequest>,
    signal: AbortSignal,
  ): Promise<ToolTestResult> {
    const wanted = request.function ?? tool.app?.action;
    const planned = this.#functions([tool]).find((one) => one.function === wanted);
    if (!planned) {
      const msg = {
        mcp: 'must name a tool that the server has and that is allowed',
        app: 'must be the action of the tool',
        webhook: 'is only for MCP servers and apps',
      }[tool.type];
      throw invalid(['body', 'function'], msg, request.function === undefined ? 'missing' : 'value_error');
    }
    await this.#limits.count(tool.org_id, tool.project_id);
    return testTool(this.#runnerOf(tool), tool, planned, request, openSecrets(this.#box, tool), signal);
  }

  /** Reads the tools of an MCP server again. @throws AppError 409 `invalid_state` for other tools, 502 */
  async discover(scope: Scope, tool: ToolRecord, signal: AbortSignal): Promise<ToolRecord> {
    if (!tool.mcp)
      throw new AppError(409, 'invalid_state', 'The tool is not an MCP server: there is nothing to read.');
    const { url } = tool.mcp;
    const discovered = JSON.stringify(await this.#mcp.discover(tool, openSecrets(this.#box, tool), signal));
    return scope
      .collection(toolCollection)
      .change(tool, ['mcp'], (current) =>
        Promise.resolve(current.mcp?.url === url ? { mcp: { ...current.mcp, discovered } } : {}),
      );
  }

  /** Runs a tool for a call of an agent that has it. @throws NotFoundError; the reason of `signal` */
  async runFor(
    agent: SessionAgent,
    { tool_id, function: name, ...call }: ToolCallRequest,
    session: { session_id: string; variables: Record<string, string> },
    signal: AbortSignal,
  ): Promise<ToolOutcome> {
    const tools = await this.#toolsOf(agent);
    const tool = tools.find(({ _id }) => _id === tool_id);
    const planned = this.#functions(tools).find((one) => one.tool_id === tool_id && one.function === name);
    if (!tool || !planned) throw new NotFoundError();
    return this.#runnerOf(tool).run(
      planToolSchema.parse(planned),
      {
        toolCallId: call.tool_call_id,
        arguments: call.arguments,
        session: {
          ...session,
          ...{ agent_id: agent.agent_id, channel: '', direction: '', from_number: null, to_number: null },
        },
        orgId: agent.org_id,
      },
      signal,
    );
  }

  /**
   * A tool that an analysis may call when the call is over.
   * @returns undefined for one that is gone, disabled, or asks the caller before it runs
   */
  async forAnalysis(orgId: string, projectId: string, toolId: string): Promise<AnalysisTool | undefined> {
    const tool = await this.#database
      .model(toolCollection)
      .findOne({ _id: toolId, org_id: orgId, project_id: { $in: [null, projectId] }, enabled: true })
      .lean<ToolRecord>();
    if (!tool || tool.execution.confirm) return undefined;
    const planned = this.#functions([tool]);
    return {
      functions: planned.map(({ name, description, parameters }) => ({ name, description, parameters })),
      run: async (name, call, signal) => {
        await this.#limits.count(orgId, projectId);
        const one = planToolSchema.parse(planned.find((each) => each.name === name));
        return this.#runnerOf(tool).run(one, { ...call, orgId }, signal);
      },
    };
  }

  /** What runs tools of its type: all by the same interface. */
  #runnerOf(tool: ToolRecord): ToolRunner {
    const { app } = tool;
    if (app) {
      const use = {
        orgId: tool.org_id,
        projectId: tool.project_id,
        connectionId: app.connection_id,
        action: app.action,
        fixed: JSON.parse(app.fixed_arguments) as Record<string, unknown>,
      };
      return { run: (planned, call, signal) => this.#apps.run(use, planned, call, signal) };
    }
    if (tool.type === 'webhook') return this.#runner;
    return {
      run: (planned, call, signal) =>
        this.#mcp.run(
          tool,
          planned,
          parseArguments(call.arguments) ?? {},
          openSecrets(this.#box, tool),
          signal,
        ),
    };
  }

  /** Functions of the enabled tools of the version and of its flow, secrets in the clear. */
  async forPlan(agent: SessionAgent): Promise<WireTool[]> {
    const content = await this.#agents.contentOf(agent.agent_id, agent.version);
    const attached = new Set(content?.tools.filter((link) => link.enabled).map((link) => link.id));
    const functions = this.#functions(await this.#toolsOf(agent));
    return functions.map((one) => ({ ...one, attached: attached.has(one.tool_id) }));
  }

  #functions(tools: readonly ToolRecord[]): WireTool[] {
    return planTools(tools, (tool) => openSecrets(this.#box, tool));
  }

  async #toolsOf(agent: SessionAgent): Promise<ToolRecord[]> {
    const content = await this.#agents.contentOf(agent.agent_id, agent.version);
    const linked = (content?.tools ?? []).filter((link) => link.enabled).map((link) => link.id);
    const ids = [...new Set([...linked, ...flowToolIds(agent.flow_definition)])];
    if (ids.length === 0) return [];
    const tools = await this.#database
      .model(toolCollection)
      .find({
        _id: { $in: ids },
        org_id: agent.org_id,
        project_id: { $in: [null, agent.project_id] },
        enabled: true,
      })
      .lean<ToolRecord[]>();
    const order = new Map(ids.map((id, index) => [id, index]));
    return tools.sort((a, b) => order.get(a._id)! - order.get(b._id)!);
  }
}

/** Tools that a flow names in its nodes; checked when the flow was stored. */
function flowToolIds(flow: Record<string, unknown> | null): string[] {
  const nodes = (flow?.['nodes'] ?? []) as { tool_id?: string; tool_ids?: string[] }[];
  return nodes.flatMap((node) => [
    ...(node.tool_id === undefined ? [] : [node.tool_id]),
    ...(node.tool_ids ?? []),
  ]);
}
