import { sleep } from '@parley/shared/async/timeout';
import { AppError, ForbiddenError, TooManyRequestsError } from '@parley/shared/errors/app-error';
import type { TurnLatency } from '@parley/shared/contracts/turn';
import type { Clock } from '@parley/shared/time/clock';
import type { CallLog } from '../calls/call-log.ts';
import type { ChatModel } from '../providers/chat.ts';
import { coversLanguage } from '../providers/model-catalog.ts';
import type { OrgChats } from '../providers/org-chats.ts';
import type { SessionAgent } from '../sessions/session-agent.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { SessionCreation } from '../sessions/session-creation.ts';
import { isTerminal } from '../sessions/session-states.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import type { Directory } from '../tenancy/directory.ts';
import { evaluate } from './agent-test-checks.ts';
import type { CheckOutcome, Observed, ToolUse } from './agent-test-checks.ts';
import { judge, nextCallerLine, TestModelError } from './agent-test-models.ts';
import type { AgentTestCheck, AgentTestContent } from './agent-test-schema.ts';
import { TestCallError } from './realtime-client.ts';
import type { TestCaller } from './test-caller.ts';
import { TextCaller } from './text-caller.ts';
import { CALLER_LANGUAGES, VoiceCaller, type CallerVoice } from './voice-caller.ts';

/** How long a conversation waits for a slot of the org. */
const PLACE_MS = 120_000;
/** The gateway's last word, from the hang-up. */
const REPORT_MS = 60_000;
const REPORT_POLL_MS = 100;
/** Beyond its own delay, an agent that is to speak first has this long to begin. */
const GREETING_MS = 5000;
/** Events of one session: more than its turns and tools can be. */
const MAX_EVENTS = 10_000;
/** A tool whose mocks have no answer to its arguments; see planToolMockSchema. */
const NO_MOCK = 'no_mock_matched';

/** What tests do to their sessions. */
export interface TestSessions {
  createForTest: SessionCreation['createForTest'];
  /** Ends one that nobody joined. */
  end(session: SessionRecord): Promise<void>;
}

export interface ConversationDeps {
  sessions: TestSessions;
  store: SessionStore;
  callLog: CallLog;
  chats: OrgChats;
  directory: Directory;
  /** Speaks for callers, in English. */
  localVoice: CallerVoice;
  /** Where `/v1/realtime` is reached from here. */
  realtimeUrl: string;
  clock: Clock;
}

export interface Verdict {
  status: 'passed' | 'failed' | 'error';
  checks: CheckOutcome[];
  error: string | null;
}

export interface TestCase {
  agent: SessionAgent;
  runId: string;
  content: AgentTestContent;
  /** The session was made. */
  onSession: (sessionId: string) => Promise<void>;
}

/** What became of the conversation itself. */
interface Talk {
  said: Observed['said'];
  /** The first turn of a script that was not answered any more. */
  missed: number | undefined;
  lineOf: TestCaller['lineOf'];
}

class TestTimeout extends Error {
  constructor(seconds: number) {
    super(`The test did not finish within ${seconds} seconds.`);
    this.name = 'TestTimeout';
  }
}

/**
 * Holds one conversation with the agent and says what came of it. Whatever others fail in is an `error` of the test,
 * never thrown.
 * @throws the reason of `signal`
 */
export async function runTest(deps: ConversationDeps, test: TestCase, signal: AbortSignal): Promise<Verdict> {
  try {
    if (test.content.channel === 'voice') checkLanguage(test.agent);
    const { session, talk } = await converse(deps, test, signal);
    const observed = await observe(deps, session, talk);
    return await toVerdict(deps, test, { talk, observed }, signal);
  } catch (error) {
    signal.throwIfAborted();
    return { status: 'error', checks: [], error: reasonOf(error) };
  }
}

/**
 * Holds the conversation alone: nothing is checked.
 * @returns its session, which is over
 * @throws TestCallError, TestTimeout, AppError; the reason of `signal`
 */
export async function holdConversation(
  deps: ConversationDeps,
  test: TestCase,
  signal: AbortSignal,
): Promise<SessionRecord> {
  const { session } = await converse(deps, test, signal);
  return session;
}

/** In words for those who read the result. @throws what is nobody's but ours */
function reasonOf(error: unknown): string {
  if (error instanceof TestCallError || error instanceof TestTimeout || error instanceof AppError)
    return error.message;
  if (error instanceof TestModelError)
    return `The language model that runs the test did not answer: ${error.message}.`;
  throw error;
}

/** @throws TestCallError for an agent that would not understand the caller */
function checkLanguage({ config }: SessionAgent): void {
  const { primary } = config.language;
  if (!coversLanguage(CALLER_LANGUAGES, primary))
    throw new TestCallError(
      `The caller of voice tests speaks English, and the agent listens for ${primary}. Test it with the channel "text".`,
    );
}

async function converse(
  deps: ConversationDeps,
  test: TestCase,
  signal: AbortSignal,
): Promise<{ session: SessionRecord; talk: Talk }> {
  const { content, agent } = test;
  const { session, token } = await newSession(deps, test, signal);
  await test.onSession(session._id);
  const stop = new AbortController();
  const forward = () => stop.abort(signal.reason);
  signal.addEventListener('abort', forward);
  // It may have happened while the session was made.
  if (signal.aborted) forward();
  const timer = deps.clock.setTimeout(
    () => stop.abort(new TestTimeout(content.timeout_seconds)),
    content.timeout_seconds * 1000,
  );
  let caller: TestCaller | undefined;
  try {
    const { clock, realtimeUrl: url, localVoice: voice } = deps;
    const connection = { url, token, clock, signal: stop.signal };
    const opened = await (content.channel === 'voice'
      ? VoiceCaller.open({ ...connection, voice })
      : TextCaller.open(connection));
    caller = opened;
    const talk: Talk = { said: [], missed: undefined, lineOf: (nthTurn) => opened.lineOf(nthTurn) };
    const greeting = await caller.greeting(greetingMs(agent));
    if (greeting !== undefined && greeting !== '') talk.said.push({ role: 'agent', text: greeting, turn: 0 });
    if (content.persona) await simulate(deps, test, content.persona, caller, talk, stop.signal);
    else await recite(content, caller, talk);
    await caller.hangUp();
    return { session: await ended(deps, session, signal), talk };
  } finally {
    timer.cancel();
    signal.removeEventListener('abort', forward);
    await caller?.hangUp();
    // Nobody joined: it would wait for somebody.
    if (!caller) await deps.sessions.end(session).catch(() => undefined);
  }
}

/** Waits for a slot when all are taken. */
async function newSession(deps: ConversationDeps, { agent, runId, content }: TestCase, signal: AbortSignal) {
  const until = deps.clock.now() + PLACE_MS;
  // It may have been suspended while the run waited.
  const org = await deps.directory.org(agent.org_id);
  if (org?.status !== 'active')
    throw new ForbiddenError(
      'org_suspended',
      'This org is suspended. Contact the operator of this installation.',
    );
  for (;;) {
    try {
      return await deps.sessions.createForTest(agent, {
        runId,
        channel: content.channel,
        variables: content.variables,
        toolMocks: content.tool_mocks,
        lifeSeconds: content.timeout_seconds,
      });
    } catch (error) {
      if (!(error instanceof TooManyRequestsError) || deps.clock.now() > until) throw error;
      await sleep((error.retryAfterSeconds ?? 1) * 1000, signal);
    }
  }
}

/** How long to wait for the agent's first words; 0 when it has none. */
function greetingMs({ config, greeting }: SessionAgent): number {
  const { mode, delay_ms: delayMs } = config.greeting;
  if (mode === 'caller_first' || (mode === 'agent_first' && greeting.trim() === '')) return 0;
  return delayMs + GREETING_MS;
}

/** The fixed turns of a script. */
async function recite(content: AgentTestContent, caller: TestCaller, talk: Talk): Promise<void> {
  for (const [index, { caller: text }] of content.turns.entries()) {
    const turn = index + 1;
    const answer = caller.over ? undefined : await say(caller, talk, text, turn);
    if (answer === undefined) {
      talk.missed = turn;
      return;
    }
  }
}

/** A model plays the caller, until it hangs up, the agent does, or it has been long enough. */
async function simulate(
  deps: ConversationDeps,
  test: TestCase,
  persona: NonNullable<AgentTestContent['persona']>,
  caller: TestCaller,
  talk: Talk,
  signal: AbortSignal,
): Promise<void> {
  const model = await openModel(deps, test);
  try {
    for (let turn = 1; turn <= test.content.max_turns && !caller.over; turn++) {
      const { say: text, hangUp } = await nextCallerLine(model, { persona, said: talk.said }, signal);
      if (text === '') {
        // Who never said a word has tested nothing.
        if (turn === 1) throw new TestModelError('caller_said_nothing');
        return;
      }
      const answer = await say(caller, talk, text, turn);
      if (answer === undefined || hangUp) return;
    }
  } catch (error) {
    // It has been long enough: what was said until now is judged.
    if (!(error instanceof TestTimeout)) throw error;
  }
}

async function say(caller: TestCaller, talk: Talk, text: string, turn: number): Promise<string | undefined> {
  talk.said.push({ role: 'caller', text, turn });
  const answer = await caller.say(text);
  if (answer !== undefined && answer !== '') talk.said.push({ role: 'agent', text: answer, turn });
  return answer;
}

/** The session once its report has come. */
async function ended(
  deps: ConversationDeps,
  session: SessionRecord,
  signal: AbortSignal,
): Promise<SessionRecord> {
  const until = deps.clock.now() + REPORT_MS;
  for (;;) {
    const current = await deps.store.find(session._id);
    if (current && isTerminal(current.status)) {
      if (current.failure_reason !== null)
        throw new TestCallError(`The conversation failed: ${current.failure_reason}.`);
      // Neither the agent's doing nor the test's.
      if (current.hangup_reason === 'shutdown')
        throw new TestCallError('The media gateway stopped during the conversation. Run the test again.');
      return current;
    }
    if (deps.clock.now() > until)
      throw new TestCallError('The media gateway did not report the end of the conversation.');
    await sleep(REPORT_POLL_MS, signal);
  }
}

async function observe(deps: ConversationDeps, session: SessionRecord, talk: Talk): Promise<Observed> {
  const { items } = await deps.callLog.events(session._id, {
    types: ['turn', 'tool_started', 'tool_finished', 'flow_node'],
    limit: MAX_EVENTS,
    offset: 0,
  });
  const calls = new Map<unknown, ToolUse>();
  const answers = new Map<unknown, Observed['answers'][number]>();
  const nodes: Observed['nodes'] = [];
  const taken = new Set<unknown>();
  let turn = 0;
  for (const { type, data } of items) {
    if (type === 'turn') {
      const { turn_index: index, role, latency } = data;
      // Told again when its words change.
      if (role === 'caller' && !taken.has(index)) turn = talk.lineOf(taken.add(index).size);
      const { e2e } = (latency ?? {}) as Partial<TurnLatency>;
      if (role === 'agent' && e2e != null) answers.set(index, { turn, latencyMs: e2e });
    } else if (type === 'flow_node') {
      nodes.push({ nodeId: String(data['node_id']), turn });
    } else if (type === 'tool_started') {
      calls.set(data['tool_call_id'], {
        toolId: typeof data['tool_id'] === 'string' ? data['tool_id'] : null,
        name: String(data['name']),
        arguments: parsed(data['arguments']),
        turn,
        code: null,
      });
    } else {
      const call = calls.get(data['tool_call_id']);
      if (call && typeof data['code'] === 'string') call.code = data['code'];
    }
  }
  return {
    said: talk.said,
    toolCalls: [...calls.values()],
    nodes,
    answers: [...answers.values()],
    variables: session.variables,
    endedBy: session.ended_by,
  };
}

function parsed(text: unknown): unknown {
  try {
    return JSON.parse(text === '' ? '{}' : String(text));
  } catch {
    return undefined;
  }
}

async function toVerdict(
  deps: ConversationDeps,
  test: TestCase,
  { talk, observed }: { talk: Talk; observed: Observed },
  signal: AbortSignal,
): Promise<Verdict> {
  const { content } = test;
  let opened: ReturnType<typeof openModel> | undefined;
  const run = async (check: AgentTestCheck, turn?: number): Promise<CheckOutcome> => {
    const id = check.id!;
    if (turn !== undefined && talk.missed !== undefined && turn >= talk.missed)
      return { id, passed: false, reason: 'The conversation ended before this turn was answered.' };
    if (check.kind === 'judge') {
      const model = await (opened ??= openModel(deps, test));
      const said = observed.said.filter((one) => turn === undefined || one.turn <= turn);
      return { id, ...(await judge(model, { criterion: check.criterion, said }, signal)) };
    }
    return { id, ...evaluate(check, observed, turn) };
  };
  const checks: CheckOutcome[] = [];
  for (const [index, { expect }] of content.turns.entries())
    for (const check of expect) checks.push(await run(check, index + 1));
  for (const check of content.checks) checks.push(await run(check));
  const unmatched = observed.toolCalls.find(({ code }) => code === NO_MOCK);
  const error = unmatched
    ? `No mock of the tool ${unmatched.name} matches the arguments of the call.`
    : talk.missed !== undefined
      ? `The conversation ended before turn ${talk.missed} was answered.`
      : null;
  const passed = error === null && checks.every((check) => check.passed);
  return { status: passed ? 'passed' : 'failed', checks, error };
}

/** The model that plays the caller and judges: the persona's, the project's, or the agent's own. */
async function openModel(deps: ConversationDeps, { agent, content }: TestCase): Promise<ChatModel> {
  const project = await deps.directory.project(agent.project_id);
  const id = content.persona?.llm_id ?? project?.default_llm_id ?? agent.llm_id;
  const use = { orgId: agent.org_id, projectId: agent.project_id, llmId: id };
  await deps.chats.requireFunds(use);
  const model = await deps.chats.open(use);
  if (!model) throw new TestModelError('model_unavailable');
  return model;
}
