import t from 'tap';
import { openOpenAiEmulator } from '@parley/emulators/providers/openai-emulator';
import { parseScript } from '@parley/emulators/providers/openai/script';
import { openMcpServer } from '../../control-plane/test/fixtures/mcp-server.ts';
import { eventually } from './fixtures/system/eventually.ts';
import { openTestPlatform } from './fixtures/system/test-platform.ts';

const LINES = {
  order: 'Where is my order?',
  stock: 'How many boxes are left?',
  visit: 'Please book a visit.',
  yes: 'Yes please.',
};

const SCRIPT = parseScript({
  rules: [
    {
      when: { user: 'order', tool: 'shop_find_order' },
      reply: { tool_calls: [{ name: 'shop_find_order', arguments: { id: 'A1' } }] },
    },
    { when: { after_tool: 'shop_find_order' }, reply: { text: 'Your order was {{tool.state}}.' } },
    {
      when: { after_tool: 'check_stock', assistant: 'checking the stock' },
      reply: { text: 'There are {{tool.boxes}} boxes left.' },
    },
    { when: { after_tool: 'check_stock' }, reply: { text: 'I am checking the stock.' } },
    {
      when: { user: 'boxes', tool: 'check_stock' },
      reply: { tool_calls: [{ name: 'check_stock', arguments: {} }] },
    },
    {
      when: { after_tool: 'book_visit', assistant: 'Shall I book' },
      reply: { text: 'It is booked for {{tool.day}}.' },
    },
    { when: { after_tool: 'book_visit' }, reply: { text: 'Shall I book the visit?' } },
    {
      when: { user: 'visit', tool: 'book_visit' },
      reply: { tool_calls: [{ name: 'book_visit', arguments: { day: 'Friday' } }] },
    },
  ],
  fallback: { text: 'Pardon?' },
});

void t.test(
  'a caller has tools used: of a server, one that takes a while, one that needs a yes',
  async (t) => {
    const mcp = await openMcpServer();
    t.teardown(() => mcp[Symbol.asyncDispose]());
    const openai = await openOpenAiEmulator({
      script: SCRIPT,
      delays: { firstToken: 1, tokensPerSecond: Infinity },
    });
    t.teardown(() => openai[Symbol.asyncDispose]());
    const { platform, installation, receiver, ...opened } = await openTestPlatform({
      env: { OPENAI_API_KEY: 'any', OPENAI_BASE_URL: `${openai.url}/v1` },
      allowOrigins: [mcp.url],
    });
    t.teardown(() => opened[Symbol.asyncDispose]());
    await platform.emulators.deepgram!.teach(Object.values(LINES));
    const stock = Promise.withResolvers<void>();
    receiver.answer = async ({ path }) => {
      if (path === '/stock') await stock.promise;
      return { status: 200, body: path === '/stock' ? { boxes: 'twelve' } : { day: 'Friday' } };
    };

    const { rest, orgId } = installation;
    const agentId = await installation.agent();
    const tool = async (name: string, body: object) => {
      const { id } = await rest.post<{ id: string }>(`/v1/orgs/${orgId}/tools`, {
        ...{ name, description: 'Helps the caller.' },
        ...body,
      });
      await rest.post(`/v1/agents/${agentId}/tools`, { tool_id: id });
      return id;
    };
    const webhook = (path: string, execution: object) => ({
      ...{ type: 'webhook', parameters: { type: 'object' }, execution },
      webhook: { url: `${receiver.origin}/${path}`, method: 'POST' },
    });
    const shop = await tool('shop', {
      type: 'mcp',
      mcp: { url: `${mcp.url}/mcp`, transport: 'streamable_http', allowed_tools: ['find-order'] },
    });
    await rest.post(`/v1/tools/${shop}/discover`, {});
    await tool('check_stock', webhook('stock', { mode: 'async' }));
    await tool('book_visit', webhook('visits', { confirm: true }));

    const { session, line } = await installation.call(agentId);
    const { session_id: id } = session;
    const said = async () => (await installation.transcript(id)).map(({ role, text }) => `${role}: ${text}`);
    const heard = (text: string) =>
      eventually(`"${text}"`, async () => (await said()).includes(`agent: ${text}`));
    await installation.converse(line, LINES.order, LINES.stock);
    await heard('I am checking the stock.');
    stock.resolve();
    await heard('There are twelve boxes left.');
    await installation.converse(line, LINES.visit);
    await heard('Shall I book the visit?');
    t.equal(receiver.of('/visits').length, 0, 'not before the yes');
    await installation.converse(line, LINES.yes);
    await heard('It is booked for Friday.');
    line.hangUp();
    await line.closed;
    await installation.ended(id);

    t.same(await said(), [
      'agent: Hello.',
      `caller: ${LINES.order}`,
      'agent: Your order was sent.',
      `caller: ${LINES.stock}`,
      'agent: I am checking the stock.',
      'agent: There are twelve boxes left.',
      `caller: ${LINES.visit}`,
      'agent: Shall I book the visit?',
      `caller: ${LINES.yes}`,
      'agent: It is booked for Friday.',
    ]);
    t.same(mcp.ran, ['find-order A1']);
    t.match(
      receiver.of('/visits').map(({ body }) => JSON.parse(body) as object),
      [{ tool: 'book_visit', arguments: { day: 'Friday' }, session: { session_id: id } }],
    );
    const events = await installation.events(id);
    const of = (type: string) => events.filter((event) => event.type === type).map(({ data }) => data);
    t.match(of('tool_finished'), [
      { name: 'shop_find_order', kind: 'mcp', tool_id: shop, ok: true, outcome: 'succeeded' },
      { name: 'check_stock', kind: 'webhook', outcome: 'succeeded' },
      { name: 'book_visit', kind: 'webhook', outcome: 'succeeded' },
    ]);
    t.same(
      of('tool_confirmation').map((data) => (data as { answer: string }).answer),
      ['asked', 'yes'],
    );
  },
);
