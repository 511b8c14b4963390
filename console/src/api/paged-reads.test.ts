import { readdir, readFile } from 'node:fs/promises';
import t from 'tap';

// Lists of the API come page by page. Whatever reads one here reads on, or is named with what it is.

const SOURCES = new URL('../', import.meta.url);

/** Answered whole, or no list. */
const WHOLE = [
  '/auth/v1/profile',
  '/v1/agents/{agent_id}/knowledge-bases',
  '/v1/agents/{agent_id}/post-call-analyses',
  '/v1/agents/{agent_id}/tools',
  '/v1/agents/{agent_id}/traffic',
  '/v1/agents/{agent_id}/traffic/results',
  '/v1/campaigns/{campaign_id}/outcomes',
  '/v1/orgs/{org_id}/billing/wallet',
  '/v1/orgs/{org_id}/feature-flags',
  '/v1/orgs/{org_id}/projects/{project_id}/statistics/daily',
  '/v1/orgs/{org_id}/usage/cost-summary',
  '/v1/orgs/{org_id}/usage/daily',
  '/v1/sessions/{session_id}/analyses',
  '/v1/sessions/{session_id}/recording',
  '/v1/sessions/{session_id}/transcript',
];

/** Begun, and no more is to be shown. */
const FIRST_ONLY = [
  'app/go-to.tsx /v1/orgs/{org_id}/search',
  'pages/home/home-page.tsx /v1/orgs/{org_id}/projects/{project_id}/agents',
  'pages/home/home-page.tsx /v1/orgs/{org_id}/projects/{project_id}/phone-numbers',
  'pages/home/home-page.tsx /v1/orgs/{org_id}/projects/{project_id}/sessions',
  'pages/home/now.tsx /v1/orgs/{org_id}/projects/{project_id}/sessions',
  'pages/records/new-number.tsx /v1/orgs/{org_id}/phone-numbers/available',
];

void t.test('lists are read beyond their first page', async (t) => {
  const files = (await readdir(SOURCES, { recursive: true })).filter(
    (file) => /\.tsx?$/.test(file) && !file.endsWith('.d.ts') && !file.endsWith('.test.ts'),
  );
  const first: string[] = [];
  let paged = 0;
  for (const file of files) {
    const source = await readFile(new URL(file, SOURCES), 'utf8');
    for (const { 1: path, index } of source.matchAll(/api\.GET\(\s*'([^']+)'/g)) {
      if (path!.endsWith('}') || WHOLE.includes(path!)) continue;
      // What is in its brackets, and the query that a line above may name.
      if (/\b(page|[cC]ursor|after_index)\b/.test(source.slice(index - 260, endOfCall(source, index))))
        paged++;
      else first.push(`${file} ${path}`);
    }
  }
  t.same(first.sort(), FIRST_ONLY);
  t.ok(paged > 30, `${paged} lists are read by pages`);
});

/** Behind the bracket that closes a call. */
function endOfCall(source: string, from: number): number {
  let at = source.indexOf('(', from) + 1;
  for (let open = 1; open > 0 && at < source.length; at++)
    open += source[at] === '(' ? 1 : source[at] === ')' ? -1 : 0;
  return at;
}
