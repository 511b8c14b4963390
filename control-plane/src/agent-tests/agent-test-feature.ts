import { realtimeWsUrl } from '@parley/shared/contracts/addresses';
import type { Feature } from '../composition/feature.ts';
import { namedRecords } from '../composition/search-source.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import { holdConversation, runTest } from './agent-test-conversation.ts';
import type { ConversationDeps, TestCase } from './agent-test-conversation.ts';
import { AgentTestConversations } from './agent-test-conversations.ts';
import { AgentTestLeases } from './agent-test-leases.ts';
import {
  agentTestCollection,
  agentTestResultCollection,
  agentTestRunCollection,
} from './agent-test-model.ts';
import { agentTestRoutes } from './agent-test-routes.ts';
import { AgentTestRunner } from './agent-test-runner.ts';
import { agentTestSample } from './agent-test-sample.ts';
import { AgentTestService, eraseTestReasons, removeTestsOf } from './agent-test-service.ts';

/** Holds a conversation in writing. @returns its session, which is over */
type HoldConversation = (test: TestCase, signal: AbortSignal) => ReturnType<typeof holdConversation>;

type LeaseDeps = ConstructorParameters<typeof AgentTestLeases>[0];
type ConversationsDeps = ConstructorParameters<typeof AgentTestConversations>[0];
type ServiceDeps = ConstructorParameters<typeof AgentTestService>[0];

export function createAgentTests({
  config,
  ...deps
}: LeaseDeps &
  Omit<ConversationsDeps, 'runTest'> &
  Omit<ConversationDeps, 'realtimeUrl'> &
  Omit<ServiceDeps, 'runner'> &
  Pick<Platform, 'config'>) {
  const conversation = {
    ...deps,
    realtimeUrl: realtimeWsUrl(config.MEDIA_LOCAL_URL ?? config.MEDIA_PUBLIC_URL ?? config.PUBLIC_URL),
  };
  const runner = new AgentTestRunner({
    ...deps,
    leases: new AgentTestLeases(deps),
    conversations: new AgentTestConversations({
      ...deps,
      runTest: (test, signal) => runTest(conversation, test, signal),
    }),
  });
  const agentTests = new AgentTestService({ ...deps, runner });
  return {
    runner,
    hold: (test: TestCase, signal: AbortSignal) => holdConversation(conversation, test, signal),
    collections: [agentTestCollection, agentTestResultCollection, agentTestRunCollection],
    searches: [namedRecords('agent_test', agentTestCollection, { list: 'listAgentTests' })],
    routes: agentTestRoutes({ agentTests }),
    parameters: { test_id: idSchema('tst'), test_run_id: idSchema('trn') },
    erases: {
      agent: removeTestsOf,
      session: (sessionId: string) => eraseTestReasons(deps.database, sessionId),
    },
    flags: [{ key: 'agent_tests', description: 'Agent tests' }],
    samples: [agentTestSample],
  } satisfies Feature & { runner: AgentTestRunner; hold: HoldConversation };
}
