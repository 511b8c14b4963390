import t from 'tap';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

interface Agent {
  id: string;
  name: string;
  version: number;
  llm_id: string;
  config: {
    greeting: { mode: string; delay_ms: number };
    pre_call: { url: string | null; headers: Record<string, { set: boolean; last_four: string }> };
    webhooks: { call_ended: { enabled: boolean; url: string | null } };
    silence: { max_reminders: number };
  };
  archived_at: string | null;
}
interface Version {
  version: number;
  label: string | null;
  restored_from: number | null;
  snapshot: { name: string; config: { pre_call?: { headers: object } }; tools: object[] };
}
interface Page<T> {
  items: T[];
  total: number;
}
interface Refused {
  code: string;
  detail: { loc: (string | number)[]; type: string }[];
  refs: { id: string }[];
}

void t.test('agents', async (t) => {
  const cp = await openTestControlPlane();
  t.teardown(() => cp[Symbol.asyncDispose]());
  const { org, project } = cp.first;
  const collection = `/v1/orgs/${org._id}/projects/${project._id}/agents`;
  const make = async (body: object) => (await cp.call<Agent>('POST', collection, { body })).body;

  void t.test('a name is enough: models come from the project, the config from the defaults', async (t) => {
    const made = await cp.call<Agent>('POST', collection, { body: { name: 'Plain' } });
    t.equal(made.status, 201);
    t.match(made.body, {
      id: /^agt_/,
      org_id: org._id,
      project_id: project._id,
      version: 1,
      system_prompt: '',
      greeting: '',
      llm_id: 'llm_openai_gpt41_mini',
      flow_definition: null,
      archived_at: null,
      auto_database_id: /^dbs_/,
      config: { auto_database: true, greeting: { mode: 'agent_first' }, silence: { max_reminders: 2 } },
    });
    t.same((await cp.call('GET', `/v1/agents/${made.body.id}`)).body, made.body);
  });

  void t.test('two live agents do not share a name; an archived one frees it', async (t) => {
    const first = await make({ name: 'Twin' });
    const second = await cp.call<Refused>('POST', collection, { body: { name: 'Twin' } });
    t.equal(second.status, 409);
    t.match(second.body, { code: 'duplicate' });
    t.equal((await cp.call('DELETE', `/v1/agents/${first.id}`)).status, 204);
    const heir = await make({ name: 'Twin' });
    t.match((await cp.call('POST', `/v1/agents/${first.id}/restore`)).body, { code: 'duplicate' });
    await cp.call('PATCH', `/v1/agents/${heir.id}`, { body: { name: 'Heir' } });
    const restored = await cp.call<Agent>('POST', `/v1/agents/${first.id}/restore`);
    t.equal(restored.status, 200);
    t.equal(restored.body.archived_at, null);
  });

  void t.test('config is merged: what is not sent stays, null goes back to the default', async (t) => {
    const { id } = await make({
      name: 'Merge',
      config: {
        greeting: { mode: 'caller_first', delay_ms: 100 },
        variables: [{ name: 'plan', description: 'What they have bought' }],
      },
    });
    const path = `/v1/agents/${id}`;
    const patched = await cp.call<Agent>('PATCH', path, {
      body: { config: { silence: { max_reminders: 5 } } },
    });
    t.equal(patched.body.version, 2);
    t.match(patched.body.config, {
      greeting: { mode: 'caller_first', delay_ms: 100 },
      silence: { max_reminders: 5 },
      variables: [{ name: 'plan', description: 'What they have bought' }],
    });
    const reset = await cp.call<Agent>('PATCH', path, { body: { config: { greeting: { mode: null } } } });
    t.match(reset.body.config.greeting, { mode: 'agent_first', delay_ms: 100 });
    await cp.call('PATCH', path, { body: { greeting: null, config: {} } });
    const same = await cp.call<Agent>('PATCH', path, { body: { name: 'Merge' } });
    t.equal(same.body.version, 3, 'a change that changes nothing makes no version');
  });

  void t.test('webhooks act at once and make no version', async (t) => {
    const { id } = await make({ name: 'Hooked' });
    const call_ended = { enabled: true, url: 'https://crm.example.com/hook' };
    const patched = await cp.call<Agent>('PATCH', `/v1/agents/${id}`, {
      body: { config: { webhooks: { call_ended } } },
    });
    t.equal(patched.body.version, 1);
    t.match(patched.body.config.webhooks.call_ended, call_ended);
    const plain = { call_ended: { url: 'http://10.0.0.1/' } };
    const refused = await cp.call<Refused>('PATCH', `/v1/agents/${id}`, {
      body: { config: { webhooks: plain } },
    });
    t.equal(refused.status, 422);
    t.same(refused.body.detail[0]!.loc, ['body', 'config', 'webhooks', 'call_ended', 'url']);
  });

  void t.test('validation errors name the place', async (t) => {
    const cases: [object, (string | number)[], string][] = [
      [{}, ['body', 'name'], 'missing'],
      [{ name: 7 }, ['body', 'name'], 'string_type'],
      [{ name: 'x', nickname: 'y' }, ['body', 'nickname'], 'extra_forbidden'],
      [
        { name: 'x', config: { llm: { temperature: 3 } } },
        ['body', 'config', 'llm', 'temperature'],
        'less_than_equal',
      ],
      [{ name: 'x', config: { voodoo: {} } }, ['body', 'config', 'voodoo'], 'extra_forbidden'],
      [{ name: 'x', llm_id: 'llm_none' }, ['body', 'llm_id'], 'reference_not_found'],
      [{ name: 'x', stt_id: 'llm_openai_gpt41_mini' }, ['body', 'stt_id'], 'reference_not_found'],
      [
        { name: 'x', config: { pre_call: { headers: { 'a.b': 'x' } } } },
        ['body', 'config', 'pre_call', 'headers', 'a.b'],
        'string_pattern_mismatch',
      ],
      [
        { name: 'x', config: { pre_call: { headers: { a: '\u0001' } } } },
        ['body', 'config', 'pre_call', 'headers', 'a'],
        'string_pattern_mismatch',
      ],
    ];
    for (const [body, loc, type] of cases) {
      const answer = await cp.call<Refused>('POST', collection, { body });
      t.equal(answer.status, 422, JSON.stringify(body));
      t.match(answer.body.detail[0], { loc, type });
    }
    t.equal(
      (await cp.call('PATCH', `/v1/agents/${(await make({ name: 'Empty' })).id}`, { body: {} })).status,
      422,
    );
  });

  void t.test('If-Match refuses a change of another version', async (t) => {
    const { id } = await make({ name: 'Matched' });
    const patch = (greeting: string, match: string) =>
      cp.call<Refused>('PATCH', `/v1/agents/${id}`, { body: { greeting }, headers: { 'if-match': match } });
    t.equal((await patch('a', '"1"')).status, 200);
    const stale = await patch('b', '"1"');
    t.equal(stale.status, 409);
    t.equal(stale.body.code, 'version_conflict');
    const malformed = await patch('c', 'W/"x"');
    t.equal(malformed.status, 422);
    t.match(malformed.body.detail, [{ loc: ['header', 'if-match'] }]);
  });

  void t.test('racing changes all count, each in a version of its own', async (t) => {
    const { id } = await make({ name: 'Raced' });
    const fields = ['system_prompt', 'greeting', 'name', 'tts_voice_id'];
    const answers = await Promise.all(
      fields.map((field) => cp.call('PATCH', `/v1/agents/${id}`, { body: { [field]: 'changed' } })),
    );
    t.same(
      answers.map((answer) => answer.status),
      [200, 200, 200, 200],
    );
    const agent = (await cp.call('GET', `/v1/agents/${id}`)).body;
    t.match(agent, {
      version: 5,
      system_prompt: 'changed',
      greeting: 'changed',
      name: 'changed',
      tts_voice_id: 'changed',
    });
    const versions = await cp.call<Page<Version>>('GET', `/v1/agents/${id}/versions`);
    t.same(
      versions.body.items.map((version) => version.version),
      [5, 4, 3, 2, 1],
    );
  });

  void t.test('eight writers at once are none too many', async (t) => {
    const { id } = await make({ name: 'Crowded' });
    const silence = ['reminder_after_seconds', 'max_reminders', 'end_call_after_seconds'];
    const patches = [
      ...silence.map((key) => ({ config: { silence: { [key]: 9 } } })),
      ...[...'12345'].map((digit) => ({
        config: { turn_taking: { min_endpointing_ms: Number(digit) } },
      })),
    ];
    const answers = await Promise.all(patches.map((body) => cp.call('PATCH', `/v1/agents/${id}`, { body })));
    t.same(new Set(answers.map((answer) => answer.status)), new Set([200]));
    const agent = await cp.call('GET', `/v1/agents/${id}`);
    t.match(agent.body, {
      version: 9,
      config: { silence: Object.fromEntries(silence.map((key) => [key, 9])) },
    });
  });

  void t.test('a record sent back unchanged, or an explicit default, makes no version', async (t) => {
    const pre_call = { url: 'https://a.example.com/x', headers: { 'X-Token': 'topsecret-12345678' } };
    const { id } = await make({ name: 'Echoed', config: { pre_call, dtmf: { max_digits: 4 } } });
    const path = `/v1/agents/${id}`;
    const read = await cp.call<Agent>('GET', path);
    const echoed = await cp.call<Agent>('PATCH', path, { body: read.body });
    t.equal(echoed.status, 200, JSON.stringify(echoed.body));
    t.same(echoed.body, read.body);
    const explicit = await cp.call<Agent>('PATCH', path, {
      body: { config: { filler: { enabled: true }, webhooks: { call_ended: { web_calls: true } } } },
    });
    t.equal(explicit.body.version, 1);
    const changed = await cp.call<Agent>('PATCH', path, { body: { config: { filler: { enabled: false } } } });
    t.equal(changed.body.version, 2);
  });

  void t.test('changes of one test, tool, analysis or deployment at the same time all count', async (t) => {
    const { id } = await make({ name: 'Patched at once' });
    const made = async (path: string, body: object) =>
      (await cp.call<{ id: string }>('POST', path, { body })).body.id;
    const all = async <T>(path: string, patches: object[]) => {
      const answers = await Promise.all(patches.map((body) => cp.call('PATCH', path, { body })));
      t.same(new Set(answers.map((answer) => answer.status)), new Set([200]), path);
      return (await cp.call<T>('GET', path)).body;
    };
    const letters = ['a', 'b'];
    const variables = Object.fromEntries(letters.map((letter) => [letter, letter]));
    const test = await made(`/v1/agents/${id}/tests`, {
      name: 'Said',
      type: 'scripted',
      turns: [{ caller: 'Hello' }],
    });
    t.match(
      await all(`/v1/tests/${test}`, [
        { max_turns: 7 },
        { timeout_seconds: 77 },
        ...letters.map((letter) => ({ variables: { [letter]: letter } })),
      ]),
      { max_turns: 7, timeout_seconds: 77, variables },
    );
    const run_when = { channels: ['web'], directions: ['web'], min_duration_seconds: 3, outcomes: ['sold'] };
    const analysis = await made(collection.replace('/agents', '/analyses'), {
      name: 'mood',
      type: 'text',
      prompt: 'How was it?',
    });
    t.match(
      await all(
        `/v1/analyses/${analysis}`,
        Object.entries(run_when).map(([key, value]) => ({ run_when: { [key]: value } })),
      ),
      { run_when },
    );
    const tool = await made(`/v1/orgs/${org._id}/tools`, {
      name: 'raced_tool',
      description: 'Finds an order.',
      type: 'webhook',
      parameters: { type: 'object' },
      webhook: { url: 'https://shop.example.com/' },
    });
    t.match(
      await all(`/v1/tools/${tool}`, [
        { execution: { retries: 2 } },
        { execution: { timeout_ms: 900 } },
        { webhook: { method: 'PUT' } },
        { webhook: { body_template: 'x' } },
      ]),
      { execution: { retries: 2, timeout_ms: 900 }, webhook: { method: 'PUT', body_template: 'x' } },
    );
  });

  void t.test('what is attached while it is deleted leaves no link behind', async (t) => {
    const { id } = await make({ name: 'Torn' });
    const tool = {
      description: 'Finds an order.',
      type: 'webhook',
      parameters: { type: 'object' },
      webhook: { url: 'https://shop.example.com/' },
    };
    const kinds = [
      ['tools', 'tool_id', `/v1/orgs/${org._id}/tools`, 'tools', tool],
      [
        'post-call-analyses',
        'analysis_id',
        collection.replace('/agents', '/analyses'),
        'analyses',
        { type: 'text', prompt: 'How was it?' },
      ],
      [
        'knowledge-bases',
        'knowledge_base_id',
        collection.replace('/agents', '/knowledge-bases'),
        'knowledge-bases',
        {},
      ],
    ] as const;
    for (const [links, field, path, items, body] of kinds) {
      for (let round = 0; round < 3; round++) {
        const made = await cp.call<{ id: string }>('POST', path, { body: { name: `t${round}`, ...body } });
        const attach = cp.call('POST', `/v1/agents/${id}/${links}`, { body: { [field]: made.body.id } });
        const [attached, deleted] = await Promise.all([
          attach,
          cp.call('DELETE', `/v1/${items}/${made.body.id}`),
        ]);
        t.ok([200, 422].includes(attached.status), `${links} ${attached.status}`);
        if (deleted.status === 409) {
          await cp.call('DELETE', `/v1/agents/${id}/${links}/${made.body.id}`);
          t.equal((await cp.call('DELETE', `/v1/${items}/${made.body.id}`)).status, 204);
        } else t.equal(deleted.status, 204);
      }
      t.match((await cp.call('GET', `/v1/agents/${id}/${links}`)).body, { total: 0 }, links);
    }
  });

  void t.test('an archived agent and an old version come back without what was deleted', async (t) => {
    const { id } = await make({ name: 'Back' });
    const body = { name: 'manual' };
    const bases = collection.replace('/agents', '/knowledge-bases');
    const { id: knowledge_base_id } = (await cp.call<{ id: string }>('POST', bases, { body })).body;
    await cp.call('POST', `/v1/agents/${id}/knowledge-bases`, { body: { knowledge_base_id } });
    await cp.call('DELETE', `/v1/agents/${id}`);
    t.equal((await cp.call('DELETE', `/v1/knowledge-bases/${knowledge_base_id}`)).status, 204);
    await cp.call('POST', `/v1/agents/${id}/restore`);
    t.match((await cp.call('GET', `/v1/agents/${id}/knowledge-bases`)).body, { total: 0 });
    t.equal((await cp.call('POST', `/v1/agents/${id}/versions/2/restore`)).status, 200);
    t.match((await cp.call('GET', `/v1/agents/${id}/knowledge-bases`)).body, { total: 0 });
  });

  void t.test('a flow is stored, and what is wrong with one is told at its place', async (t) => {
    const { id } = await make({ name: 'Flowing' });
    const flow_definition = {
      start_node_id: 'talk',
      nodes: [
        { id: 'talk', type: 'conversation', prompt: 'Talk.', overrides: { silence: { max_reminders: 1 } } },
        { id: 'bye', type: 'end', message: 'Goodbye.' },
      ],
      edges: [{ id: 'e', from: 'talk', to: 'bye', condition: { type: 'llm', prompt: 'Nothing more.' } }],
    };
    const stored = await cp.call('PATCH', `/v1/agents/${id}`, { body: { flow_definition } });
    t.equal(stored.status, 200);
    t.match(stored.body, { flow_definition });
    t.match((await cp.call('POST', `/v1/agents/${id}/validate`, { body: {} })).body, { valid: true });

    const wrong = structuredClone(flow_definition) as { nodes: object[] };
    wrong.nodes[0] = { ...wrong.nodes[0], tool_ids: ['tol_gone'], overrides: { llm_id: 'llm_gone' } };
    const loc = ['body', 'flow_definition', 'nodes', 0];
    for (const [method, path, body] of [
      ['POST', collection, { name: 'Flow' }],
      ['PATCH', `/v1/agents/${id}`, {}],
    ] as const) {
      const refused = await cp.call<Refused>(method, path, { body: { ...body, flow_definition: wrong } });
      t.equal(refused.status, 422, path);
      t.match(refused.body.detail, [
        { loc: [...loc, 'overrides', 'llm_id'], type: 'reference_not_found' },
        { loc: [...loc, 'tool_ids', 0], type: 'reference_not_found' },
      ]);
    }
    const unfit = {
      ...flow_definition,
      nodes: [{ id: 'talk', type: 'collect', fields: [{ name: 'x', type: 'enum' }] }, wrong.nodes[1]],
    };
    const checked = await cp.call('POST', `/v1/agents/${id}/validate`, {
      body: { flow_definition: unfit },
    });
    t.match(checked.body, {
      valid: false,
      errors: [{ loc: [...loc, 'fields', 0, 'options'], type: 'missing' }],
    });
  });

  void t.test('an old version is read, labelled, restored and pinned', async (t) => {
    const { id } = await make({ name: 'Old', greeting: 'one' });
    const path = `/v1/agents/${id}`;
    await cp.call('PATCH', path, { body: { greeting: 'two' } });
    t.match((await cp.call('GET', `${path}?version=1`)).body, { greeting: 'one', version: 1 });
    const labelled = await cp.call<Version>('PATCH', `${path}/versions/1`, { body: { label: 'first' } });
    t.equal(labelled.body.label, 'first');
    t.match((await cp.call('POST', `${path}/versions/1/restore`)).body, { greeting: 'one', version: 3 });
    t.match((await cp.call('GET', `${path}/versions/3`)).body, { restored_from: 1 });
    t.equal((await cp.call('GET', `${path}/versions/9`)).status, 404);

    const pinned = { mode: 'pinned', splits: [{ version: 2, weight: 100 }], require_passed_tests: false };
    t.same((await cp.call('PUT', `${path}/traffic`, { body: pinned })).body, pinned);
    t.match(await cp.app.services.storedAgents.forNewSession(id, null), { version: 2, greeting: 'two' });
    const unknown = { mode: 'pinned', splits: [{ version: 9, weight: 100 }] };
    t.equal((await cp.call('PUT', `${path}/traffic`, { body: unknown })).status, 422);
    await cp.call('PUT', `${path}/traffic`, { body: { mode: 'latest' } });
    t.match(await cp.app.services.storedAgents.forNewSession(id, null), { version: 3, greeting: 'one' });
  });

  void t.test('callers are divided between versions, keep theirs, and go back to one', async (t) => {
    const { id } = await make({ name: 'Divided', greeting: 'one' });
    const path = `/v1/agents/${id}`;
    await cp.call('PATCH', path, { body: { greeting: 'two' } });
    const split = (...weights: [version: number, weight: number][]) => ({
      mode: 'pinned',
      splits: weights.map(([version, weight]) => ({ version, weight })),
      require_passed_tests: false,
    });
    const put = (body: object) => cp.call('PUT', `${path}/traffic`, { body });
    t.match(await put(split([1, 50], [2, 40])), {
      status: 422,
      body: { detail: [{ loc: ['body', 'splits'] }] },
    });
    t.match(await put(split([1, 50], [1, 50])), {
      status: 422,
      body: { detail: [{ loc: ['body', 'splits'] }] },
    });
    t.match(await put(split([1, 50], [9, 50])), {
      status: 422,
      body: { detail: [{ loc: ['body', 'splits', 1, 'version'], type: 'reference_not_found' }] },
    });
    t.same((await put(split([1, 50], [2, 50]))).body, split([1, 50], [2, 50]));

    const { storedAgents } = cp.app.services;
    const choice = (await storedAgents.choice(id))!;
    t.same(
      choice.versions.map(({ greeting }) => greeting),
      ['one', 'two'],
    );
    const users = Array.from({ length: 64 }, (_, n) => `user ${n}`);
    const ofOne = users.find((user) => choice.of(user).version === 1)!;
    const ofTwo = users.find((user) => choice.of(user).version === 2)!;
    t.equal((await storedAgents.forNewSession(id, ofTwo))?.greeting, 'two');
    const unknown = await Promise.all(users.map(() => storedAgents.forNewSession(id, null)));
    t.equal(new Set(unknown.map((one) => one!.version)).size, 2, 'who is unknown is divided by session');

    const mint = async (user_identifier: string) => {
      const body = { agent_id: id, user_identifier };
      const made = await cp.call<{ session_id: string }>('POST', '/v1/realtime/sessions', { body });
      return made.body.session_id;
    };
    const versionOf = async (sessionId: string) => {
      const got = await cp.call<{ detail: { agent_version: number } }>('GET', `/v1/sessions/${sessionId}`);
      return got.body.detail.agent_version;
    };
    const first = await mint(ofOne);
    const [again, other] = [await mint(ofOne), await mint(ofTwo)];
    t.same(await Promise.all([first, again, other].map(versionOf)), [1, 1, 2]);

    await put(split([2, 100]));
    t.equal(await versionOf(await mint(ofOne)), 2);
    t.equal(await versionOf(first), 1, 'a session keeps its version');

    const mintVersion = (agent_version: number) =>
      cp.call<{ session_id: string }>('POST', '/v1/realtime/sessions', {
        body: { agent_id: id, agent_version },
      });
    t.equal(await versionOf((await mintVersion(1)).body.session_id), 1, 'a version that gets no callers');
    t.match(await mintVersion(9), {
      status: 422,
      body: { detail: [{ loc: ['body', 'agent_version'], type: 'reference_not_found' }] },
    });
  });

  void t.test(
    'header values are secrets: shown as four characters, kept when sent back, lost with the address',
    async (t) => {
      const pre_call = { url: 'https://a.example.com/x', headers: { 'X-Token': 'topsecret-12345678' } };
      const made = await cp.call<Agent>('POST', collection, {
        body: { name: 'Secretive', config: { pre_call } },
      });
      t.same(made.body.config.pre_call.headers, { 'X-Token': { set: true, last_four: '5678' } });
      const path = `/v1/agents/${made.body.id}`;
      const back = {
        config: { pre_call: { url: 'https://a.example.com/y', headers: made.body.config.pre_call.headers } },
      };
      t.equal((await cp.call('PATCH', path, { body: back })).status, 200);
      const live = await cp.app.services.storedAgents.forNewSession(made.body.id, null);
      t.same(live?.config.pre_call.headers, { 'X-Token': 'topsecret-12345678' });
      const moved = await cp.call<Refused>('PATCH', path, {
        body: { config: { pre_call: { url: 'https://b.example.com/' } } },
      });
      t.equal(moved.status, 422);
      t.match(moved.body.detail[0], { type: 'secret_required' });
      const versions = await cp.call('GET', `${path}/versions/2`);
      t.notOk(JSON.stringify(versions.body).includes('topsecret'));
      const copy = await cp.call<Agent>('POST', `${path}/duplicate`);
      t.equal(copy.status, 201);
      t.same(
        (await cp.app.services.storedAgents.forNewSession(copy.body.id, null))?.config.pre_call.headers,
        {
          'X-Token': 'topsecret-12345678',
        },
      );
    },
  );

  void t.test('tools are attached, switched, counted and protected', async (t) => {
    const { id } = await make({ name: 'Handy' });
    const tool = {
      name: 'look_up_order',
      description: 'Finds an order.',
      type: 'webhook',
      parameters: { type: 'object', properties: { id: { type: 'string' } } },
      webhook: { url: 'https://shop.example.com/orders', headers: { Authorization: 'Basic abcdefghijkl' } },
    };
    const made = await cp.call<{ id: string; webhook: object }>('POST', `/v1/orgs/${org._id}/tools`, {
      body: tool,
    });
    t.equal(made.status, 201);
    t.match(made.body, {
      project_id: project._id,
      webhook: { headers: { Authorization: { last_four: 'ijkl' } } },
    });
    const attach = () =>
      cp.call('POST', `/v1/agents/${id}/tools`, { body: { tool_id: made.body.id, extra: 1 } });
    t.same((await attach()).body, { tool_id: made.body.id, enabled: true });
    t.same((await attach()).body, { tool_id: made.body.id, enabled: true });
    t.match((await cp.call('GET', `/v1/agents/${id}`)).body, { version: 2 });
    t.match((await cp.call('GET', `/v1/agents/${id}/tools`)).body, { total: 1 });

    const live = await cp.app.services.storedAgents.forNewSession(id, null);
    const plan = await cp.app.services.tools.forPlan(live!);
    t.match(plan, [{ name: 'look_up_order', webhook: { headers: { Authorization: 'Basic abcdefghijkl' } } }]);

    const inUse = await cp.call<Refused>('DELETE', `/v1/tools/${made.body.id}`);
    t.equal(inUse.status, 409);
    t.match(inUse.body, { code: 'resource_in_use', refs: [{ type: 'agent', id, name: 'Handy' }] });
    const off = await cp.call('PATCH', `/v1/agents/${id}/tools/${made.body.id}`, {
      body: { enabled: false },
    });
    t.same(off.body, { tool_id: made.body.id, enabled: false });
    t.same(
      await cp.app.services.tools.forPlan((await cp.app.services.storedAgents.forNewSession(id, null))!),
      [],
    );
    const headers = { 'X-Shop': 'token-abcdefgh' };
    const added = await cp.call('PATCH', `/v1/tools/${made.body.id}`, {
      body: { webhook: { headers }, execution: { retries: null }, enabled: null },
    });
    t.match(added.body, {
      webhook: { headers: { Authorization: { last_four: 'ijkl' }, 'X-Shop': { last_four: 'efgh' } } },
    });
    const removed = await cp.call<{ webhook: { headers: object } }>('PATCH', `/v1/tools/${made.body.id}`, {
      body: { webhook: { headers: { 'X-Shop': null }, method: null } },
    });
    t.same(Object.keys(removed.body.webhook.headers), ['Authorization'], 'null removes a header');
    t.equal((await cp.call('DELETE', `/v1/agents/${id}/tools/${made.body.id}`)).status, 204);
    t.equal((await cp.call('DELETE', `/v1/agents/${id}/tools/${made.body.id}`)).status, 404);
    t.equal((await cp.call('DELETE', `/v1/tools/${made.body.id}`)).status, 204);
    const other = await cp.makeTenant();
    const foreign = await cp.call<{ id: string }>('POST', `/v1/orgs/${other.org._id}/tools`, {
      token: other.apiKey,
      body: tool,
    });
    const refused = await cp.call<Refused>('POST', `/v1/agents/${id}/tools`, {
      body: { tool_id: foreign.body.id },
    });
    t.equal(refused.status, 422);
    t.match(refused.body.detail, [{ loc: ['body', 'tool_id'], type: 'reference_not_found' }]);
  });

  void t.test('a deleted analysis leaves every agent', async (t) => {
    const { id } = await make({ name: 'Analysed' });
    const body = { name: 'mood', type: 'text', prompt: 'How was the caller?' };
    const analysis = await cp.call<{ id: string }>('POST', collection.replace('/agents', '/analyses'), {
      body,
    });
    t.equal(analysis.status, 201);
    const attached = await cp.call('POST', `/v1/agents/${id}/post-call-analyses`, {
      body: { analysis_id: analysis.body.id },
    });
    t.same(attached.body, { analysis_id: analysis.body.id, enabled: true });
    t.equal((await cp.call('DELETE', `/v1/analyses/${analysis.body.id}`)).status, 204);
    t.match((await cp.call('GET', `/v1/agents/${id}/post-call-analyses`)).body, { total: 0 });
    t.equal((await cp.call('DELETE', `/v1/agents/${id}/post-call-analyses/${analysis.body.id}`)).status, 404);
  });

  void t.test('an agent is purged only once archived, by an admin, and nothing of it stays', async (t) => {
    const { id } = await make({
      name: 'Gone',
      config: { pre_call: { headers: { a: 'value-of-a-header' } } },
    });
    const purge = () => cp.call('DELETE', `/v1/agents/${id}?purge=true`);
    t.match((await purge()).body, { code: 'invalid_state' });
    await cp.call('DELETE', `/v1/agents/${id}`);
    t.match((await cp.call('PATCH', `/v1/agents/${id}`, { body: { greeting: 'x' } })).body, {
      code: 'invalid_state',
    });
    t.equal((await purge()).status, 204);
    t.equal((await cp.call('GET', `/v1/agents/${id}`)).status, 404);
    t.equal(await cp.app.services.storedAgents.version(id, 1), null);
  });

  void t.test('lists are filtered, sorted and paged', async (t) => {
    const other = await cp.makeTenant();
    const path = `/v1/orgs/${other.org._id}/projects/${other.project._id}/agents`;
    const token = other.apiKey;
    for (const name of ['Anna', 'Bea', 'Annika']) await cp.call('POST', path, { token, body: { name } });
    const names = async (query: string) => {
      const page = await cp.call<Page<Agent>>('GET', `${path}${query}`, { token });
      return [page.body.total, page.body.items.map((agent) => agent.name)];
    };
    t.same(await names(''), [3, ['Annika', 'Bea', 'Anna']]);
    t.same(await names('?sort=name&limit=2'), [3, ['Anna', 'Annika']]);
    t.same(await names('?q=ANN&sort=-name'), [2, ['Annika', 'Anna']]);
    t.same(await names('?offset=7'), [3, []]);
    t.same(await names('?archived=true'), [0, []]);
    t.same(await names('?llm_id=a&llm_id=llm_openai_gpt41_mini&sort=created_at&limit=1'), [3, ['Anna']]);
    for (const query of [
      '?limit=0',
      '?limit=201',
      '?limit=x',
      '?sort=voice',
      '?offset=-1',
      '?colour=red',
      '?created_after=now',
    ]) {
      t.equal((await cp.call('GET', `${path}${query}`, { token })).status, 422, query);
    }
  });

  void t.test('validate says what a change would meet and stores nothing', async (t) => {
    const { id } = await make({ name: 'Tried' });
    const good = await cp.call('POST', `/v1/agents/${id}/validate`, { body: { greeting: 'Hi' } });
    t.same(good.body, { valid: true, errors: [], warnings: [] });
    const bad = await cp.call<{ valid: boolean; errors: object[] }>('POST', `/v1/agents/${id}/validate`, {
      body: { config: { limits: { max_tool_steps: 0 } } },
    });
    t.equal(bad.body.valid, false);
    t.match(bad.body.errors, [{ loc: ['body', 'config', 'limits', 'max_tool_steps'] }]);
    t.match((await cp.call('GET', `/v1/agents/${id}`)).body, { version: 1, greeting: '' });
  });
});
