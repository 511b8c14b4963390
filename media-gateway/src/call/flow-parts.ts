import type { PlanAsset } from '@parley/shared/contracts/audio-assets';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Clock } from '@parley/shared/time/clock';
import type { LlmProvider } from '../providers/llm/llm-provider.ts';
import type { Participant } from '../participants/participant.ts';
import type { CallProviders } from '../providers/provider-registry.ts';
import type { Emit } from '../reporting/call-reporter.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import type { RecordedSpeech } from '../speech/recorded-speech.ts';
import type { CallVoices } from '../speech/speaker.ts';
import type { CallerTurns } from '../turns/caller-turns.ts';
import type { AgentTools } from './agent-tools.ts';
import { AssetSpeech } from './asset-speech.ts';
import type { BackgroundAudio } from './background-audio.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { CallTools } from './call-tools.ts';
import { Dialogue } from './dialogue.ts';
import { AGENT_ENDS } from './end-reason.ts';
import type { Failures } from './failures.ts';
import { FlowRouter } from './flow-router.ts';
import { FlowRun, type FlowCall } from './flow-run.ts';
import type { Goodbye } from './goodbye.ts';
import type { Greeting } from './greeting.ts';
import { NodeSettings } from './node-settings.ts';
import type { PromptTexts } from './prompt.ts';
import type { RecordingConsent } from './recording-consent.ts';
import type { Transcript } from './transcript.ts';
import type { TransferParts } from './transfer-parts.ts';
import type { TrustedVariables } from './trusted-variables.ts';
import type { VariableChanges } from './variable-changes.ts';
import type { TurnLog } from './turn-log.ts';

/** How much of a tool's answer the model is told, in characters. */
const MAX_NOTE = 2000;

/** What the model is told before a tool of a flow runs. */
const ASK_YES =
  'Something is to be done that needs the yes of the caller. Say in one sentence what exactly is to be done, and ask for a yes or a no. Do not say that it is done. This is to be done:';
const ASK_YES_AGAIN =
  'The caller said neither a clear yes nor a clear no. Answer what they said, then ask once more for a yes or a no to this:';

/** The parts of a call that run a flow. */
export type FlowParts = { node: NodeSettings; flow: FlowRun; dialogue: Dialogue };

/** Makes the parts that run the flow of a call, as `wireCall` does those that they work with. Starts nothing. */
export function wireFlow(call: {
  plan: SessionPlan;
  variables: Record<string, string>;
  trusted: TrustedVariables;
  participant: Pick<Participant, 'carrierCommands'>;
  transfers: Pick<TransferParts, 'bringTo' | 'handOver'>;
  background: BackgroundAudio;
  /** Rejects when an asset cannot be had. */
  loadAudio: (assetId: string, asset: PlanAsset) => Promise<RecordedSpeech>;
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
  const { plan, prompt, tools, transcript, goodbye, failures, turns, variables, trusted } = call;
  const node = new NodeSettings({ ...call, changed: call.settingsChanged });
  const router = new FlowRouter({
    ...call,
    llm: (id) => node.llm(id),
    messages: (systemPrompt) => transcript.messages(systemPrompt),
    usage: call.log.usage,
  });
  const assets = new AssetSpeech(call);
  /** Begins to bring the caller to somebody else. @returns whether it was begun */
  const lead: (...args: Parameters<FlowCall['lead']>) => boolean = (effect) => {
    const asker = { onReturned: () => flow.returned() };
    if (effect.type === 'hand_over') {
      const { agent_id: agentId, pass_variables: passVariables, pass_history: passHistory } = effect.node;
      return call.transfers.handOver({ agentId, passVariables, passHistory }, asker) === undefined;
    }
    const { to } = effect;
    const { destinations } = plan.agent.config.transfer;
    const destination = typeof to === 'string' ? destinations.find(({ id }) => id === to) : to;
    if (!destination) return false;
    const mayBe = destination.target.type === 'agent' || call.participant.carrierCommands;
    return mayBe && call.transfers.bringTo(destination, asker) === undefined;
  };
  const flow: FlowRun = new FlowRun({
    ...call,
    call: {
      enter: (entered) => node.enter(entered),
      assign: ({ variables: values, filled }) => {
        // What somebody else has said stays theirs, whoever passes it on.
        const ours = Object.entries(values).filter(([name]) =>
          filled[name]?.every((one) => trusted.get(one) !== undefined),
        );
        Object.assign(variables, values);
        trusted.add(Object.fromEntries(ours));
      },
      decide: (question, signal) => router.decide(question, signal),
      setTask: (text) => node.setTask(text),
      said: () => ({ text: transcript.callerText, asked: transcript.agentText }),
      askForTool: ({ toolId, arguments: args, again }) => {
        const tool = tools.flow.ask(toolId, args);
        const what = `${tool?.name ?? toolId}: ${tool?.description ?? ''}\n${JSON.stringify(args)}`;
        node.setTask(`${again ? ASK_YES_AGAIN : ASK_YES}\n${what}`);
      },
      answeredForTool: (answer) => tools.flow.answered(answer),
      runTool: async (toolId, args) => {
        const before = plan.tools.find(({ tool_id: id }) => id === toolId)?.execution.say_before ?? '';
        if (before !== '') call.speech.say(before, 'say', { interruptible: true });
        const { name, ok, content } = await tools.flow.run(toolId, args);
        transcript.note(`The tool ${name} was run. Its answer: ${content.slice(0, MAX_NOTE)}`);
        return { ok, content };
      },
      playAsset: ({ text, interruptible }, assetId, isDue) => assets.say(assetId, text, interruptible, isDue),
      hold: (assetId) => call.background.hold(assetId),
      lead: (effect) => {
        if (lead(effect)) return;
        call.emit('warning', { code: 'transfer_unavailable' });
        transcript.note('The caller was to be transferred, which is not possible on this line.');
        queueMicrotask(() => flow.returned());
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
