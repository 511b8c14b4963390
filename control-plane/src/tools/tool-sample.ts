import { nthId, orgPath, unique } from '../composition/sample.ts';
import type { Sample } from '../composition/sample.ts';

/** A good request. */
export function toolBody(name: string): object {
  return {
    name,
    description: 'A tool.',
    type: 'webhook',
    parameters: { type: 'object' },
    webhook: { url: 'https://example.com/' },
  };
}

export const toolSample: Sample = {
  async make({ make, project }) {
    const { id: tool_id } = await make(`${orgPath(project)}/tools`, toolBody(unique()), project.key);
    await make(`/v1/agents/${project.ids['agent_id']}/tools`, { tool_id }, project.key);
    return { tool_id };
  },
  scenarios: {
    createTool: async (_, send) => {
      const body = toolBody(unique());
      await send(201, { body });
      await send(409, { body });
    },
    updateTool: async ({ make, project }, send) => {
      const name = unique();
      await make(`${orgPath(project)}/tools`, toolBody(name), project.key);
      await send(200, { body: { description: 'Changed.' } });
      await send(409, { body: { name } });
    },
    async discoverTools({ make, project, tenantUrl, mcpUrl }, send) {
      const at = async (url: string) => {
        const body = { name: unique(), description: 'A server.', type: 'mcp', mcp: { url } };
        const { id } = await make(`${orgPath(project)}/tools`, body, project.key);
        return { ids: { tool_id: id } };
      };
      await send(200, await at(mcpUrl));
      await send(409);
      // It answers, and speaks no MCP.
      await send(502, await at(tenantUrl));
    },
    testTool: (_, send) => send(200, { body: { arguments: {} } }),
    deleteTool: async ({ make, project }, send) => {
      const { id } = await make(`${orgPath(project)}/tools`, toolBody(unique()), project.key);
      await send(204, { ids: { tool_id: id } });
      await send(409);
    },
  },
  many: ({ inProject }) => [
    {
      collection: 'tools',
      count: 999,
      record: (n) => ({
        ...inProject,
        _id: nthId('tol', n),
        name: `Thing ${n}`,
        description: 'Does.',
        type: 'webhook',
        parameters: '{"type":"object"}',
        webhook: {
          url: 'https://example.com/',
          method: 'POST',
          headers: {},
          auth: { type: 'none' },
          body_template: null,
          query_template: null,
        },
        mcp: null,
        app: null,
        secrets: '',
        execution: { mode: 'sync', timeout_ms: 1000, retries: 0, say_before: '', confirm: false },
        response: { max_characters: 100, assign: [] },
        enabled: n !== 5,
      }),
    },
  ],
};
