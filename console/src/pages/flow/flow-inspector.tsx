import { Alert, Badge, Button, Group, Select, Stack, Text, TextInput, Title } from '@mantine/core';
import { useState } from 'react';
import { NO_ERRORS, placeErrors } from '../../components/schema-form/form-errors.ts';
import type { FoundError } from '../../components/schema-form/form-errors.ts';
import type { GroupField } from '../../components/schema-form/field.ts';
import { FormScope } from '../../components/schema-form/form-scope.tsx';
import { OtherErrors } from '../../components/schema-form/other-errors.tsx';
import { GroupFields } from '../../components/schema-form/schema-form.tsx';
import type { Path } from '../../components/schema-form/form-value.ts';
import { Trash2 } from './flow-icons.ts';
import type { FlowForms } from './flow-form.ts';
import { exitOf, titleOf } from './flow-graph.ts';
import type { Flow, FlowError, FlowErrors } from './flow-graph.ts';
import { lookOf } from './flow-node.tsx';

export type Selected = { part: 'nodes' | 'edges'; id: string } | null;

/** What is selected on the canvas, as a form; without a selection the flow itself. */
export function FlowInspector({
  flow,
  forms,
  selected,
  errors,
  readOnly,
  onChange,
  onRename,
  onConnect,
  onStart,
  onRemove,
}: {
  flow: Flow;
  forms: FlowForms;
  selected: Selected;
  errors: FlowErrors;
  readOnly: boolean;
  onChange: (path: Path, next: unknown) => void;
  onRename: (id: string) => void;
  /** Joins the selected node to another one. */
  onConnect: (to: string) => void;
  onStart: () => void;
  onRemove: () => void;
}) {
  if (!selected) {
    return (
      <Stack>
        <div>
          <Title order={2} size="h5">
            The whole flow
          </Title>
          <Text size="xs" c="dimmed">
            Select a node or an edge to change it. Drag from one node&apos;s lower edge to another to join
            them, or select the first and choose where it leads. The arrow keys move what is selected.
          </Text>
        </div>
        <Form
          group={forms.flow}
          value={flow}
          errors={errors.rest}
          readOnly={readOnly}
          onChange={onChange}
          flowLevel
        />
      </Stack>
    );
  }
  if (selected.part === 'edges') {
    const edge = flow.edges.find(({ id }) => id === selected.id);
    if (!edge) return null;
    return (
      <Stack>
        <Heading
          title={`${titleOf(flow, edge.from)} → ${titleOf(flow, edge.to)}`}
          kind="Edge"
          readOnly={readOnly}
          onRemove={onRemove}
        />
        <Form
          group={forms.edge}
          value={edge}
          errors={errors.edges.get(edge.id) ?? []}
          readOnly={readOnly}
          onChange={onChange}
        />
      </Stack>
    );
  }
  const node = flow.nodes.find(({ id }) => id === selected.id);
  const form = node && forms.nodes.get(node.type);
  if (!node) return null;
  return (
    <Stack>
      <Heading
        title={titleOf(flow, node.id)}
        kind={lookOf(node.type).title}
        readOnly={readOnly}
        onRemove={onRemove}
      />
      <Group align="flex-end" wrap="nowrap">
        <IdInput
          key={node.id}
          id={node.id}
          isTaken={(id) => flow.nodes.some((one) => one !== node && one.id === id)}
          readOnly={readOnly}
          onRename={onRename}
        />
        {node.id !== flow.start_node_id && !readOnly && (
          <Button variant="default" onClick={onStart}>
            Start here
          </Button>
        )}
      </Group>
      {!readOnly && exitOf(flow, node) === 'open' && (
        <Select
          label="Add an edge to"
          placeholder="Choose a node"
          searchable
          limit={100}
          nothingFoundMessage="There is no other node"
          data={flow.nodes
            .filter(({ id }) => id !== node.id)
            .map(({ id }) => ({ value: id, label: titleOf(flow, id) }))}
          value={null}
          onChange={(to) => to !== null && onConnect(to)}
        />
      )}
      {form ? (
        <Form
          group={form}
          value={node}
          errors={errors.nodes.get(node.id) ?? []}
          readOnly={readOnly}
          onChange={onChange}
        />
      ) : (
        <Alert color="yellow" variant="light">
          Nodes of the type {node.type} cannot be edited here.
        </Alert>
      )}
    </Stack>
  );
}

function Heading({
  title,
  kind,
  readOnly,
  onRemove,
}: {
  title: string;
  kind: string;
  readOnly: boolean;
  onRemove: () => void;
}) {
  return (
    <Group justify="space-between" wrap="nowrap" align="flex-start">
      <div style={{ minWidth: 0 }}>
        <Badge variant="default" tt="none" mb={4}>
          {kind}
        </Badge>
        <Title order={2} size="h5" lineClamp={2}>
          {title}
        </Title>
      </div>
      {!readOnly && (
        <Button size="compact-sm" variant="default" leftSection={<Trash2 size={12} />} onClick={onRemove}>
          Delete
        </Button>
      )}
    </Group>
  );
}

function IdInput({
  id,
  isTaken,
  readOnly,
  onRename,
}: {
  id: string;
  isTaken: (id: string) => boolean;
  readOnly: boolean;
  onRename: (id: string) => void;
}) {
  const [text, setText] = useState(id);
  const error = !/^[A-Za-z0-9_-]{1,64}$/.test(text)
    ? '1 to 64 of A-Z, a-z, 0-9, _ and -'
    : isTaken(text)
      ? 'Another node has this ID'
      : undefined;
  return (
    <TextInput
      flex={1}
      label="ID"
      value={text}
      readOnly={readOnly}
      error={error}
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 13 } }}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={() => error === undefined && text !== id && onRename(text)}
      onKeyDown={(event) => event.key === 'Enter' && event.currentTarget.blur()}
    />
  );
}

function Form({
  group,
  value,
  errors,
  readOnly,
  onChange,
  flowLevel = false,
}: {
  group: GroupField;
  value: unknown;
  errors: readonly FlowError[];
  readOnly: boolean;
  onChange: (path: Path, next: unknown) => void;
  flowLevel?: boolean;
}) {
  const inside: FoundError[] = errors.map(({ loc, msg }) => ({
    // Of a flow they begin with its own name.
    loc: flowLevel && loc[0] === 'flow_definition' ? loc.slice(1) : loc,
    msg,
  }));
  const { placed, elsewhere } =
    inside.length === 0 ? { placed: NO_ERRORS, elsewhere: [] } : placeErrors(inside, group, value, []);
  return (
    <Stack>
      <OtherErrors errors={elsewhere.map(({ loc, msg }) => ({ loc: ['', ...loc], msg }))} />
      <FormScope value={value} errors={placed} readOnly={readOnly} narrow change={onChange}>
        <GroupFields group={group} />
      </FormScope>
    </Stack>
  );
}
