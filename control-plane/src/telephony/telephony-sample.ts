import { newId } from '@parley/shared/ids/new-id';
import {
  MANY_NUMBER,
  archivedAgent,
  nthId,
  orgPath,
  pennilessProject,
  projectPath,
  unique,
} from '../composition/sample.ts';
import type { Sample, SampleProject, SampleWorld } from '../composition/sample.ts';

let lastNumber = 4155550102;

/** The carrier fails at the next request. */
const FAILS_ONCE: { kind: 'refuse'; status: number; count: number }[] = [
  { kind: 'refuse', status: 503, count: 1 },
];

/** An account whose credentials nobody has tried. */
async function unverified({ make, project }: Pick<SampleWorld, 'make' | 'project'>): Promise<string> {
  const credentials = { auth_id: 'MAFAKE', auth_token: 'token' };
  const account = { name: unique(), provider: 'plivo', credentials };
  return (await make(`${orgPath(project)}/telephony-accounts`, account)).id;
}

/** An account of another org at the world's carrier. */
async function verified(
  { carrierPublicKey: public_key, make }: SampleWorld,
  ids: SampleProject['ids'],
): Promise<{ telephony_account_id: string }> {
  const credentials = { api_key: 'KEY-of-the-tests', public_key };
  const { id } = await make(`${orgPath({ ids, key: '' })}/telephony-accounts`, {
    ...{ name: 'Line', provider: 'telnyx', credentials },
  });
  await make(`/v1/telephony-accounts/${id}/verify`, {});
  return { telephony_account_id: id };
}

export const telephonySample: Sample = {
  async make({ make, project, carrierPublicKey }) {
    const { project_id, agent_id } = project.ids;
    const { id: telephony_account_id } = await make(`${orgPath(project)}/telephony-accounts`, {
      name: 'Line',
      provider: 'telnyx',
      project_ids: [project_id],
      credentials: { api_key: 'KEY-of-the-tests', public_key: carrierPublicKey, connection_id: '1494404' },
    });
    await make(`/v1/telephony-accounts/${telephony_account_id}/verify`, {});
    const number = { telephony_account_id, phone_number: `+1${++lastNumber}`, mode: 'import' };
    const { id: phone_number_id } = await make(`${projectPath(project)}/phone-numbers`, number, project.key);
    const deployment = { name: 'Line', phone_number_id, agent_id };
    const { id } = await make(`${projectPath(project)}/inbound-deployments`, deployment, project.key);
    return { telephony_account_id, phone_number_id, inbound_deployment_id: id };
  },
  scenarios: {
    createTelephonyAccount: async ({ make, put }, send) => {
      const credentials = { auth_id: 'MAFAKE', auth_token: 'token' };
      const body = { name: 'Line', provider: 'plivo', credentials };
      await send(201, { body });
      const org = await make('/v1/orgs', { name: unique() });
      await put('telephony_accounts', { ...body, _id: newId('tel'), org_id: org.id }, 1000);
      await send(409, { body, ids: { org_id: org.id } });
    },
    updateTelephonyAccount: async ({ make, project }, send) => {
      await send(200, { body: { name: 'Line 1' } });
      const credentials = { auth_id: 'MAFAKE', auth_token: 'token' };
      const unverified = { name: 'Line', provider: 'plivo', credentials };
      const { id } = await make(`${orgPath(project)}/telephony-accounts`, unverified);
      await send(409, { ids: { telephony_account_id: id }, body: { status: 'active' } });
    },
    deleteTelephonyAccount: async ({ make, project }, send) => {
      const { id } = await make(`${orgPath(project)}/telephony-accounts`, {
        name: 'Line',
        provider: 'plivo',
        credentials: { auth_id: 'MAFAKE', auth_token: 'token' },
      });
      await send(204, { ids: { telephony_account_id: id } });
      await send(409);
    },
    listAvailablePhoneNumbers: async ({ carrier, make, project }, send) => {
      const query = `country=US&telephony_account_id=${project.ids['telephony_account_id']}`;
      await send(200, { query });
      carrier.setFaults(FAILS_ONCE);
      await send(502, { query });
      await send(409, { query: `country=US&telephony_account_id=${await unverified({ make, project })}` });
    },
    createPhoneNumber: async (world, send) => {
      const { carrier, project } = world;
      const telephony_account_id = project.ids['telephony_account_id'];
      const order = (mode: string, phone_number: string) => ({
        body: { telephony_account_id, phone_number, mode },
        headers: { 'idempotency-key': unique() },
      });
      await send(201, order('import', '+14155559900'));
      await send(409, order('import', '+14155559900'));
      carrier.setFaults(FAILS_ONCE);
      await send(502, order('import', '+14155559904'));
      await send(202, order('buy', '+12125552001'));
      const ids = await pennilessProject(world);
      const body = { ...order('buy', '+12125552002').body, ...(await verified(world, ids)) };
      await send(402, { ids, token: world.owner.token, body, headers: { 'idempotency-key': unique() } });
    },
    updatePhoneNumber: async ({ make, owner, project }, send) => {
      await send(200, { body: { label: 'Desk' } });
      const { id } = await make(`${orgPath(project)}/projects`, { name: unique() });
      await send(409, { body: { project_id: id }, token: owner.token });
    },
    releasePhoneNumber: async ({ carrier, make, project, put }, send) => {
      const { id } = await make(
        `${projectPath(project)}/phone-numbers`,
        {
          telephony_account_id: project.ids['telephony_account_id'],
          phone_number: '+14155559901',
          mode: 'import',
        },
        project.key,
      );
      carrier.setFaults(FAILS_ONCE);
      await send(502, { ids: { phone_number_id: id } });
      await send(204, { ids: { phone_number_id: id } });
      await send(409);
      const bought = newId('phn');
      const { org_id, project_id, telephony_account_id } = project.ids;
      await put('phone_numbers', {
        ...{ _id: bought, org_id, project_id, telephony_account_id, provider: 'telnyx', country: 'US' },
        ...{ phone_number: '+12125552003', active_number: '+12125552003', type: 'local', origin: 'bought' },
        status: 'active',
      });
      await send(202, { ids: { phone_number_id: bought } });
    },
    createInboundDeployment: async ({ make, project }, send) => {
      const { id } = await make(
        `${projectPath(project)}/phone-numbers`,
        {
          telephony_account_id: project.ids['telephony_account_id'],
          phone_number: '+14155559902',
          mode: 'import',
        },
        project.key,
      );
      const body = { name: 'Line', phone_number_id: id, agent_id: project.ids['agent_id'] };
      await send(201, { body });
      await send(409, { body });
    },
    updateInboundDeployment: async (world, send) => {
      await send(200, { body: { name: 'Desk' } });
      await send(409, { body: { agent_id: await archivedAgent(world) } });
    },
    deleteInboundDeployment: async ({ put, project }, send) => {
      const inbound_deployment_id = newId('ibd');
      const { org_id, project_id, agent_id, phone_number_id } = project.ids;
      await put('inbound_deployments', {
        _id: inbound_deployment_id,
        ...{ org_id, project_id, agent_id, phone_number_id },
        name: 'Line',
        status: 'paused',
      });
      await send(204, { ids: { inbound_deployment_id } });
    },
  },
  many: ({ inOrg, inProject }) => [
    {
      collection: 'telephony_accounts',
      count: 999,
      record: (n) => ({
        ...inOrg,
        _id: nthId('tel', n),
        name: `Account ${n}`,
        provider: 'plivo',
        project_ids: n % 2 === 0 ? null : [inProject.project_id],
        credentials: '',
        status: n === 5 ? 'invalid' : 'active',
      }),
    },
    {
      collection: 'inbound_deployments',
      count: 999,
      record: (n) => ({
        ...inProject,
        _id: nthId('ibd', n),
        name: `Thing ${n}`,
        phone_number_id: nthId('phn', 1),
        active_number_id: null,
        agent_id: nthId('agt', 1),
        agent_version: null,
        status: 'paused',
        blocked_numbers: [],
        variables: {},
      }),
    },
    {
      collection: 'phone_numbers',
      count: 999,
      record: (n) => ({
        ...inProject,
        _id: nthId('phn', n),
        telephony_account_id: nthId('tel', 1),
        provider: 'plivo',
        phone_number: MANY_NUMBER,
        active_number: null,
        country: 'US',
        type: 'local',
        label: '',
        origin: 'imported',
        capabilities: ['voice'],
        status: 'released',
        released_at: null,
      }),
    },
  ],
  filters: () => ({ phone_number_id: [nthId('phn', 1)], country: ['US', 'DE'] }),
};
