import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import { languageName } from '@parley/shared/languages/language-name';
import type { LlmProvider } from '../providers/llm/llm-provider.ts';
import type { CallProviders } from '../providers/provider-registry.ts';
import type { CallRedaction } from '../redaction/call-redaction.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import type { CallVoices } from '../speech/speaker.ts';
import type { CallerTurns } from '../turns/caller-turns.ts';
import { TAKEN_OVER, TAKEN_OVER_ANEW, type Passed } from './agent-hand-over.ts';
import type { AgentTools } from './agent-tools.ts';
import type { BackgroundAudio } from './background-audio.ts';
import type { CallKnowledge } from './call-knowledge.ts';
import { listensAlike, type CallLanguages } from './call-languages.ts';
import type { CallReport } from './call-report.ts';
import type { CallTiming } from './call-timing.ts';
import type { CostMeter } from './cost-meter.ts';
import type { NextAgent } from './call.ts';
import type { CallerKeys } from './caller-keys.ts';
import type { Dialogue } from './dialogue.ts';
import type { NodeSettings } from './node-settings.ts';
import type { PromptTexts } from './prompt.ts';
import type { Transcript } from './transcript.ts';
import type { TurnLog } from './turn-log.ts';
import type { Watchdog } from './watchdog.ts';

/** What a running call may go on with. */
export interface CallChanges {
  /** Another language: what is in the plan and `providers` is that of the language. */
  changeLanguage(change: { sameEars: boolean }): void;
  /** Another agent. */
  takeOver(next: NextAgent, passed: Passed): void;
}

/** Has all parts of a call learn that its language or its agent is another one. Starts nothing. */
export function wireChanges(call: {
  plan: SessionPlan;
  variables: Record<string, string>;
  providers: CallProviders;
  llms: LlmProvider[];
  voices: CallVoices;
  languages: CallLanguages;
  redaction: CallRedaction;
  speech: AgentSpeech;
  agentTools: AgentTools;
  prompt: PromptTexts;
  knowledge: CallKnowledge;
  keys: CallerKeys;
  timing: CallTiming;
  background: BackgroundAudio;
  watchdog: Watchdog;
  turns: CallerTurns;
  transcript: Transcript;
  report: CallReport;
  log: TurnLog;
  cost: CostMeter;
  node: NodeSettings;
  dialogue: Dialogue;
  /** Aborts when the call is over. */
  signal: AbortSignal;
}): CallChanges {
  const { plan, variables, providers, llms, voices, languages, redaction, speech, agentTools, prompt } = call;
  const { knowledge, keys, timing, background, watchdog, turns, transcript, node, dialogue, signal } = call;
  const { report, log, cost } = call;
  const changeLanguage: CallChanges['changeLanguage'] = ({ sameEars }) => {
    node.languageChanged();
    Object.assign(providers, providers.inLanguage?.(plan));
    voices.use(providers.tts);
    if (!plan.text_only) voices.current.warm();
    // It was thought in the language before.
    speech.discardPrepared();
    prompt.agentChanged();
    timing.languageChanged();
    turns.agentChanged(sameEars ? undefined : providers.stt);
    transcript.note(`The call goes on in ${languageName(languages.current)} from here.`);
  };
  const takeOver: CallChanges['takeOver'] = ({ part, providers: theirs, tools: runner }, passed) => {
    const before = { stt: plan.stt, agent: plan.agent };
    const spoken = languages.current;
    if (!passed.pass_variables) report.keepVariables();
    Object.assign(variables, { ...part.variables, ...variables });
    Object.assign(plan, part);
    log.agentChanged(passed.handover_id);
    cost.agentChanged(plan.prices);
    redaction.widen(plan.agent.config.privacy);
    Object.assign(providers, theirs);
    if (languages.agentChanged(spoken)) Object.assign(providers, theirs.inLanguage?.(plan));
    const sameEars = listensAlike(before, plan);
    llms.splice(0, llms.length, ...theirs.llm.map((make) => make()));
    for (const llm of llms) llm.warm();
    voices.use(providers.tts);
    if (!plan.text_only) voices.current.warm();
    agentTools.agentChanged(runner);
    prompt.agentChanged();
    knowledge.warm(signal);
    keys.configure(plan.agent.config.dtmf);
    timing.agentChanged();
    background.begin();
    watchdog.agentChanged(plan);
    turns.agentChanged(sameEars ? undefined : providers.stt);
    if (passed.pass_history !== 'all') transcript.beginAnew(passed.summary);
    transcript.note(passed.pass_history === 'all' ? TAKEN_OVER : TAKEN_OVER_ANEW);
    node.agentChanged();
    // A caller who has begun to speak is answered when they have finished.
    dialogue.agentChanged(turns.openText === '');
  };
  return { changeLanguage, takeOver };
}
