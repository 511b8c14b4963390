import { isDeepStrictEqual } from 'node:util';
import { bootstrapInstallation } from '@parley/control-plane/bootstrap';
import { REFUSE } from '@parley/control-plane/telephony/inbound-action';
import { inboundDeploymentCollection } from '@parley/control-plane/telephony/inbound-deployment-model';
import { phoneNumberCollection } from '@parley/control-plane/telephony/phone-number-model';
import { telephonyAccountCollection } from '@parley/control-plane/telephony/telephony-account-model';
import { Scope } from '@parley/control-plane/tenancy/scope';
import type { CarrierEmulator } from '@parley/emulators/callers/emulated-call';
import { newId } from '@parley/shared/ids/new-id';
import { CARRIERS, type CarrierName } from '@parley/shared/contracts/session-values';
import type { Platform } from '../platform.ts';
import type { DemonstrationReceivers } from './receivers.ts';
import { RestClient } from './rest-client.ts';
import { BOOK_TABLE_TOOL, DEMONSTRATION_AGENT } from './script.ts';

export interface DemonstrationLine {
  emulator: CarrierEmulator;
  telephonyAccountId: string;
  phoneNumberId: string;
  number: string;
}

export interface Demonstration {
  rest: RestClient;
  apiKey: string;
  /** Made just now: to be shown this once. */
  keyIsNew: boolean;
  orgId: string;
  projectId: string;
  agentId: string;
  /** The emulated carriers, and the number at each that the agent answers. */
  lines: Partial<Record<CarrierName, DemonstrationLine>>;
}

/** Who makes what the demonstration needs. */
const INSTALLATION = { auth: 'jwt', user_id: 'usr_installation', sign_in_id: 'installation' } as const;

/** +1 415 555 0101 at the first carrier, and on from there. */
const numberAt = (carrier: CarrierName) =>
  `+1415555${String(101 + CARRIERS.indexOf(carrier)).padStart(4, '0')}`;

/**
 * Makes what the demonstration needs, on the first start; later ones find it again: an org, a key, an agent with a
 * tool and a webhook, and at each emulated carrier an account with a number that the agent answers.
 */
export async function setUpDemonstration(
  platform: Platform,
  receivers: DemonstrationReceivers,
): Promise<Demonstration> {
  const { controlPlane, secrets } = platform;
  const keyIsNew = secrets.demonstration_key === null;
  if (secrets.demonstration_key === null) {
    const made = await bootstrapInstallation(controlPlane.services, {
      orgName: 'Demonstration',
      projectName: 'Demonstration',
      keyName: 'Demonstration',
    });
    secrets.demonstration_key = made.apiKey;
    platform.saveSecrets();
  }
  const apiKey = secrets.demonstration_key;
  const rest = new RestClient(platform.localUrl, apiKey);
  const { org_id: orgId, project_id: projectId } = await rest.get<{ org_id: string; project_id: string }>(
    '/v1/me',
  );
  const agentId = await findOrMakeAgent(rest, orgId, projectId, receivers);
  // A fresh secret on every start: nobody has to keep it, and the receiver can check what it is sent.
  const { secret } = await rest.post<{ secret: string }>(`/api/v1/webhooks/agents/${agentId}/rotate-secret`, {
    webhook: 'call_ended',
  });
  receivers.expectSecret(secret);
  const scope = new Scope(controlPlane.services.database, {
    orgId,
    projectId,
    projects: null,
    role: 'owner',
  });
  const lines: Demonstration['lines'] = {};
  for (const [name, emulator] of Object.entries(platform.carriers) as [CarrierName, CarrierEmulator][]) {
    const line = await findOrMakeNumber(platform, scope, agentId, name, emulator.credentials);
    lines[name] = { emulator, number: numberAt(name), ...line };
    await verifyAccount(platform, scope, line.telephonyAccountId, emulator.credentials);
  }
  return { rest, apiKey, keyIsNew, orgId, projectId, agentId, lines };
}

async function findOrMakeAgent(
  rest: RestClient,
  orgId: string,
  projectId: string,
  urls: { toolUrl: string; webhookUrl: string },
): Promise<string> {
  const project = `/v1/orgs/${orgId}/projects/${projectId}`;
  const known = await rest.get<{ items: { id: string; name: string }[] }>(
    `${project}/agents?q=${encodeURIComponent(DEMONSTRATION_AGENT.name)}`,
  );
  let agent = known.items.find((item) => item.name === DEMONSTRATION_AGENT.name);
  agent ??= await rest.post<{ id: string; name: string }>(`${project}/agents`, DEMONSTRATION_AGENT);
  const tools = await rest.get<{ items: { id: string; name: string; webhook: { url: string } }[] }>(
    `/v1/orgs/${orgId}/tools?q=${BOOK_TABLE_TOOL.name}`,
  );
  let tool = tools.items.find((item) => item.name === BOOK_TABLE_TOOL.name);
  if (tool && tool.webhook.url !== urls.toolUrl) {
    // The receiver listens elsewhere than last time.
    const links = await rest.get<{ items: { tool_id: string }[] }>(`/v1/agents/${agent.id}/tools`);
    if (links.items.some((link) => link.tool_id === tool!.id))
      await rest.delete(`/v1/agents/${agent.id}/tools/${tool.id}`);
    await rest.delete(`/v1/tools/${tool.id}`);
    tool = undefined;
  }
  tool ??= await rest.post<{ id: string; name: string; webhook: { url: string } }>(
    `/v1/orgs/${orgId}/tools`,
    {
      ...BOOK_TABLE_TOOL,
      type: 'webhook',
      project_id: projectId,
      webhook: { url: urls.toolUrl, method: 'POST' },
    },
  );
  await rest.post(`/v1/agents/${agent.id}/tools`, { tool_id: tool.id });
  await rest.put(`/api/v1/webhooks/agents/${agent.id}/call-ended`, {
    enabled: true,
    url: urls.webhookUrl,
    web_calls: true,
    phone_calls: true,
  });
  return agent.id;
}

async function findOrMakeNumber(
  platform: Platform,
  scope: Scope,
  agentId: string,
  carrier: CarrierName,
  credentials: Record<string, string>,
): Promise<Pick<DemonstrationLine, 'telephonyAccountId' | 'phoneNumberId'>> {
  const { telephonyAccounts } = platform.controlPlane.services;
  const numbers = scope.collection(phoneNumberCollection);
  const known = await numbers.findOne({ active_number: numberAt(carrier) });
  if (known) {
    return { telephonyAccountId: known.telephony_account_id, phoneNumberId: known._id };
  }
  const account = await telephonyAccounts.create(scope, INSTALLATION, '', {
    name: `Emulated ${carrier}`,
    provider: carrier,
    credentials,
  });
  const phoneNumberId = await insertNumber(scope, {
    ...{ carrier, number: numberAt(carrier), agentId, accountId: account._id },
  });
  return { telephonyAccountId: account._id, phoneNumberId };
}

/** A number of an account, which an agent answers at all times. @returns its id */
export async function insertNumber(
  scope: Scope,
  {
    carrier,
    number,
    agentId,
    accountId,
  }: { carrier: CarrierName; number: string; agentId: string; accountId: string },
): Promise<string> {
  const record = await scope.collection(phoneNumberCollection).insert({
    _id: newId('phn'),
    telephony_account_id: accountId,
    provider: carrier,
    phone_number: number,
    active_number: number,
    country: 'US',
    type: 'local',
    label: `Emulated ${carrier}`,
    origin: 'imported',
    capabilities: ['voice'],
    outbound_enabled: true,
    daily_call_limit: null,
    status: 'active',
    released_at: null,
  });
  await scope.collection(inboundDeploymentCollection).insert({
    _id: newId('ibd'),
    name: `Emulated ${carrier}`,
    phone_number_id: record._id,
    active_number_id: record._id,
    agent_id: agentId,
    agent_version: null,
    status: 'active',
    availability: null,
    closed_dates: [],
    outside_hours: REFUSE,
    overflow: { max_concurrent: null, action: REFUSE },
    blocked_numbers: [],
    variables: {},
  });
  return record._id;
}

/**
 * Accounts that were never tried at their carrier take and make no calls. One of an earlier version, without all
 * credentials that its carrier has by now, gets them.
 */
export async function verifyAccount(
  platform: Platform,
  scope: Scope,
  accountId: string,
  credentials: Record<string, string>,
): Promise<void> {
  const { telephonyAccounts, box } = platform.controlPlane.services;
  const stored = await scope.collection(telephonyAccountCollection).get(accountId);
  const known: unknown = JSON.parse(box.decryptSecret(stored.credentials));
  const account = isDeepStrictEqual(known, credentials)
    ? stored
    : await telephonyAccounts.change(scope, INSTALLATION, '', stored, { credentials });
  await telephonyAccounts.verify(scope, account);
}
