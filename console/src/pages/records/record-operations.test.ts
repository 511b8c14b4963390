import t from 'tap';
import type { Description } from '../../api/description.ts';
import { addressOf, bodyForm, bodyOf, editForm, needsProject, operationsOf } from './record-operations.ts';

const json = (schema: object) => ({ content: { 'application/json': { schema } } });
const named = (kind: string, own: object) => ({
  type: 'object',
  properties: {
    type: { type: 'string', const: kind },
    name: { type: 'string' },
    project_id: { type: 'string' },
    ...own,
  },
  required: ['type', 'name'],
});
const description: Description = {
  paths: {
    '/v1/orgs/{org_id}/tools': {
      get: {
        operationId: 'listTools',
        summary: '',
        parameters: [
          { name: 'org_id', in: 'path', schema: {} },
          { name: 'q', in: 'query', schema: {} },
          { name: 'limit', in: 'query', schema: {} },
        ],
        responses: {},
      },
      post: {
        operationId: 'createTool',
        summary: '',
        requestBody: json({
          oneOf: [
            named('webhook', { url: { type: 'string' } }),
            named('mcp', { server: { type: 'string' } }),
          ],
        }),
        responses: {},
      },
    },
    '/v1/tools/{tool_id}': {
      patch: {
        operationId: 'updateTool',
        summary: '',
        requestBody: json({ $ref: '#/components/schemas/PatchTool' }),
        responses: {},
      },
      delete: { operationId: 'deleteTool', summary: '', responses: {} },
    },
    '/v1/voices/clone': { post: { operationId: 'cloneVoice', summary: '', responses: {} } },
    '/v1/voices/{voice_id}': {
      patch: {
        operationId: 'updateVoice',
        summary: '',
        requestBody: {
          content: {
            'application/x-www-form-urlencoded': {
              schema: {
                type: 'object',
                properties: { name: { type: 'string' }, is_public: { type: 'boolean' } },
              },
            },
          },
        },
        responses: {},
      },
    },
  },
  components: {
    schemas: {
      PatchTool: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          url: { type: 'string' },
          status: { type: 'string', enum: ['on', 'off'] },
        },
      },
    },
  },
};
const { schemas } = description.components;

void t.test('records by the description', async (t) => {
  const { list, create, get, update, remove } = operationsOf(description, { one: 'Tool', many: 'Tools' });
  t.equal(get, undefined, 'what cannot be done is not offered');
  t.equal(addressOf(list!, { org_id: 'org_1', q: 'a b', project_id: 'prj_1' }), '/v1/orgs/org_1/tools?q=a+b');
  t.equal(addressOf(remove!, { org_id: 'org_1' }, 'tol_1'), '/v1/tools/tol_1');
  t.equal(needsProject(create!, schemas), true);

  const form = bodyForm(create, schemas);
  t.match(form, { kind: 'variant', tag: 'type' });
  const edit = editForm(form, update, schemas, { type: 'webhook', name: 'a', url: 'b', status: 'on' });
  t.same(
    edit?.fields.map(({ key }) => key),
    ['name', 'url', 'status'],
    'as made, and what only an update has',
  );
  t.same(
    editForm(form, update, schemas, { type: 'mcp', name: 'a' })?.fields.map(({ key }) => key),
    ['name'],
  );
  t.equal(editForm(form, undefined, schemas, {}), undefined);
});

void t.test('records that are cloned, and changed by the fields of a form', async (t) => {
  const { create, update } = operationsOf(description, { one: 'Voice', many: 'Voices' });
  t.equal(create?.path, '/v1/voices/clone');
  t.equal(bodyForm(create, schemas), undefined);
  t.same(
    editForm(undefined, update, schemas, { name: 'Asha', is_public: false })?.fields.map(({ key }) => key),
    ['name', 'is_public'],
  );
  t.equal(String(bodyOf(update!, { name: 'Asha & Co', is_public: true })), 'name=Asha+%26+Co&is_public=true');
  const { update: updateTool } = operationsOf(description, { one: 'Tool', many: 'Tools' });
  t.same(bodyOf(updateTool!, { name: 'a' }), { name: 'a' });
});
