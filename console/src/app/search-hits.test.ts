import t from 'tap';
import { groupHits } from './search-hits.ts';
import type { SearchHit } from './search-hits.ts';

void t.test('what is found leads to its page, by kind', (t) => {
  const hit = (type: string, id: string, more: Partial<SearchHit> = {}): SearchHit => ({
    ...{ type, id, name: id, project_id: 'prj_2', agent_id: null, parent_id: null },
    created_at: '2026-01-01T00:00:00Z',
    ...more,
  });
  const hits = [
    hit('tool', 'tol_1', { project_id: null }),
    hit('phone_number', 'num_1'),
    hit('session', 'uuid', { agent_id: 'agt_1' }),
    hit('agent_test', 'tst_1', { agent_id: 'agt_1' }),
    hit('agent', 'agt_1'),
    hit('project', 'prj_3', { project_id: null }),
    hit('agent', 'agt_2'),
    hit('campaign', 'cmp_1'),
    hit('something_new', 'new_1'),
    hit('contact', 'cct_1', { parent_id: 'cmp_1' }),
    hit('recipient', 'rcp_1', { parent_id: 'rcl_1' }),
    hit('knowledge_file', 'kbf_1', { parent_id: 'kbs_1' }),
    hit('ucc_complaint', 'ucc_1', { project_id: null }),
    hit('member', 'mbr_1', { project_id: null }),
    hit('api_key', 'key_1'),
    hit('invoice', 'inv_1', { project_id: null }),
  ];
  const addresses = (projectId: string | undefined) =>
    groupHits(hits, { projectId, orgId: 'org_1' }).map(({ heading, found }) => [
      heading,
      ...found.map(({ address }) => address),
    ]);
  t.same(addresses('prj_1'), [
    ['Projects', { to: '/projects/prj_3/home' }],
    ['Agents', { to: '/projects/prj_2/agents/agt_1' }, { to: '/projects/prj_2/agents/agt_2' }],
    ['Calls', { to: '/projects/prj_2/calls/uuid' }],
    ['Campaigns', { to: '/projects/prj_2/campaigns/cmp_1' }],
    ['Tests', { to: '/projects/prj_2/agents/agt_1/tests', search: { record: 'tst_1' } }],
    ['Contacts', { to: '/projects/prj_2/campaigns/cmp_1', search: { record: 'cct_1' } }],
    ['Recipients', { to: '/projects/prj_2/recipient-lists', search: { record: 'rcl_1' } }],
    ['Documents', { to: '/projects/prj_2/knowledge-bases', search: { record: 'kbs_1' } }],
    ['Complaints', { to: '/projects/prj_1/ucc-complaints', search: { record: 'ucc_1' } }],
    ['Members', { to: '/orgs/org_1/members' }],
    ['API keys', { to: '/projects/prj_2/api-keys' }],
    ['Invoices', { to: '/orgs/org_1/billing' }],
    ['Tools', { to: '/projects/prj_1/tools', search: { record: 'tol_1' } }],
    ['Numbers', { to: '/projects/prj_2/phone-numbers', search: { record: 'num_1' } }],
  ]);
  t.notOk(
    addresses(undefined).some(([heading]) => heading === 'Tools'),
    'what is of the whole org needs a project to be shown in',
  );
  t.end();
});
