import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Clock } from '@parley/shared/time/clock';
import type { LlmProvider } from '../providers/llm/llm-provider.ts';
import type { CallProviders } from '../providers/provider-registry.ts';
import type { Emit } from '../reporting/call-reporter.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import type { CallVoices } from '../speech/speaker.ts';
import type { CallerTurns } from '../turns/caller-turns.ts';
import type { AgentTools } from './agent-tools.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { CallTools } from './call-tools.ts';
import { Dialogue } from './dialogue.ts';
import { AGENT_ENDS } from './end-reason.ts';
import type { Failures } from './failures.ts';
import { FlowRouter } from './flow-router.ts';
import { FlowRun } from './flow-run.ts';
import type { Goodbye } from './goodbye.ts';
import type { Greeting } from './greeting.ts';
import { NodeSettings } from './node-settings.ts';
import type { PromptTexts } from './prompt.ts';
import type { RecordingConsent } from './recording-consent.ts';
import type { Transcript } from './transcript.ts';
import type { VariableChanges } from './variable-changes.ts';
import type { TurnLog } from './turn-log.ts';

/** How much of a tool's answer the model is told, in characters. */
const MAX_NOTE = 2000;

/** The parts of a call that run a flow. */
export type FlowParts = { node: NodeSettings; flow: FlowRun; dialogue: Dialogue };

/** Makes the parts that run the flow of a call, as `wireCall` does those that they work with. Starts nothing. */
export function wireFlow(call: {
  plan: SessionPlan;
  variables: Record<string, string>;
  changes: VariableChanges;
  phase: PhaseOfCall;
  emit: Emit;
  providers: CallProviders;
  llms: LlmProvider[];
  voices: CallVoices;
  tools: CallTools;
  agentTools: AgentTools;
  prompt: PromptTexts;
  turns: CallerTurns;
  speech: AgentSpeech;
  transcript: Transcript;
  log: TurnLog;
  greeting: Greeting;
  consent: RecordingConsent;
  goodbye: Goodbye;
  failures: Failures;
  clock: Clock;
  /** Aborts when the call is over. */
  signal: AbortSignal;
  /** Other settings hold from now on, those of turn-taking apart. */
  settingsChanged: () => void;
}): FlowParts {
  const { plan, prompt, tools, transcript, goodbye, failures, turns } = call;
  const node = new NodeSettings({ ...call, changed: call.settingsChanged });
  const router = new FlowRouter({
    ...call,
    llm: (id) => node.llm(id),
    messages: (systemPrompt) => transcript.messages(systemPrompt),
    usage: call.log.usage,
  });
  const flow = new FlowRun({
    ...call,
    call: {
      enter: (entered) => node.enter(entered),
      choose: (options, mayStay, signal) => router.choose(options, mayStay, signal),
      runTool: async (toolId, args) => {
        const { name, ok, content } = await tools.runForFlow(toolId, args);
        transcript.note(`The tool ${name} was run. Its answer: ${content.slice(0, MAX_NOTE)}`);
        return { ok, content };
      },
      after: (ms, then) => {
        const timer = call.clock.setTimeout(then, ms);
        return () => timer.cancel();
      },
      end: (message) =>
        goodbye.say(AGENT_ENDS, message ?? (prompt.render(plan.agent.config.end_call.message) || undefined)),
      fail: (code) => failures.flowFailed(code),
      awaitsAnswer: () => transcript.awaitsAnswer,
      callerSpeaks: () => turns.openText !== '',
    },
  });
  return { node, flow, dialogue: new Dialogue({ ...call, flow }) };
}
