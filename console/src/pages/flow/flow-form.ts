import { fieldOf } from '../../components/schema-form/field.ts';
import type { GroupField, Schemas } from '../../components/schema-form/field.ts';

/** Forms of a flow, of its kinds of nodes and of its edges, from the description. */
export interface FlowForms {
  flow: GroupField;
  edge: GroupField;
  nodes: ReadonlyMap<string, GroupField>;
}

/** Edited on the canvas. */
const ON_CANVAS = ['id', 'position', 'from', 'to', 'nodes', 'edges', 'start_node_id', 'schema_version'];

/** @param schemas `components.schemas` of the description */
export function flowForms(schemas: Schemas): FlowForms | undefined {
  const form = fieldOf(schemas['FlowDefinition'] ?? {}, schemas);
  if (form.kind !== 'group') return undefined;
  const nodes = form.fields.find(({ key }) => key === 'nodes');
  const edges = form.fields.find(({ key }) => key === 'edges');
  if (nodes?.kind !== 'rows' || nodes.row.kind !== 'variant') return undefined;
  if (edges?.kind !== 'rows' || edges.row.kind !== 'group') return undefined;
  const inInspector = (group: GroupField): GroupField => ({
    ...group,
    fields: group.fields
      .filter(({ key }) => !ON_CANVAS.includes(key))
      .map((field) => (field.key === 'overrides' ? { ...field, label: 'Otherwise than the agent' } : field)),
  });
  return {
    flow: inInspector(form),
    edge: inInspector(edges.row),
    nodes: new Map(nodes.row.variants.map(({ value, group }) => [value, ownFirst(inInspector(group))])),
  };
}

/** What only this kind of node has comes before what all have. */
const COMMON = ['overrides', 'global'];

function ownFirst(group: GroupField): GroupField {
  const own = group.fields.filter(({ key }) => !COMMON.includes(key));
  return { ...group, fields: [...own, ...group.fields.filter(({ key }) => COMMON.includes(key))] };
}
