import { ActionIcon, Box, Button, Card, Group, Menu, Skeleton, Text, Tooltip } from '@mantine/core';
import { useElementSize, useHotkeys, useMediaQuery } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { MiniMap, ReactFlowProvider, useEdgesState, useNodesState, useReactFlow } from '@xyflow/react';
import type { Connection, Edge, NodeChange, OnSelectionChangeParams } from '@xyflow/react';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useDescription } from '../../api/description.ts';
import { useRetryFailed } from '../../api/use-retry-failed.ts';
import { useParam, useProject } from '../../app/project.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { Drawer } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import type { GroupField } from '../../components/schema-form/field.ts';
import { emptyOf } from '../../components/schema-form/form-value.ts';
import type { Json } from '../../components/schema-form/form-value.ts';
import { tellFailure } from '../../components/tell-failure.ts';
import { AgentFrame } from '../agents/agent-frame.tsx';
import { SavedMeanwhile } from '../agents/saved-meanwhile.tsx';
import { FlowCanvas } from './flow-canvas.tsx';
import { flowForms } from './flow-form.ts';
import {
  addNode,
  change as changed,
  connect,
  duplicate,
  newFlow,
  place,
  remove,
  rename,
} from './flow-graph.ts';
import type { Flow, FlowErrors } from './flow-graph.ts';
import { LayoutGrid, Plus, Redo2, Undo2, Workflow } from './flow-icons.ts';
import { toCanvasEdge, toCanvasNode } from './flow-elements.ts';
import { FlowInspector } from './flow-inspector.tsx';
import type { Selected } from './flow-inspector.tsx';
import { arrange, NODE_HEIGHT, NODE_WIDTH } from './flow-layout.ts';
import { lookOf } from './flow-node.tsx';
import type { CanvasNode } from './flow-node.tsx';
import { useFlow } from './use-flow.ts';

/** The graph that calls of an agent go through. */
export default function FlowPage() {
  const agentId = useParam('agentId');
  return (
    <ReactFlowProvider key={agentId}>
      <FlowEditor agentId={agentId} />
    </ReactFlowProvider>
  );
}

function FlowEditor({ agentId }: { agentId: string }) {
  const { can } = useProject();
  const editor = useFlow(agentId);
  const description = useDescription();
  const retry = useRetryFailed();
  const forms = useMemo(
    () => description.data && flowForms(description.data.components.schemas),
    [description.data],
  );
  const readOnly = !can('edit') || editor.agent.data?.archived_at != null;
  const failure = editor.failure ?? description.error;
  const { flow, errors, isChanged, meanwhile, save } = editor;
  const wrong =
    errors.rest.length +
    [...errors.nodes.values(), ...errors.edges.values()].reduce((sum, { length }) => sum + length, 0);
  const saveNow = () =>
    save.mutate(undefined, {
      onSuccess: (agent) =>
        notifications.show({ color: 'green', message: `Saved as version ${agent.version}.` }),
      onError: (error) => tellFailure('Not saved', error),
    });
  // What others have drawn is taken the place of knowingly alone.
  const maySave = isChanged && wrong === 0 && !readOnly && meanwhile !== 'flow';
  useHotkeys([['mod+S', () => maySave && saveNow()]], []);
  return (
    <AgentFrame
      agentId={agentId}
      actions={
        !readOnly &&
        (isChanged ? (
          <Group gap="xs">
            <Text size="sm" c={wrong > 0 ? 'var(--mantine-color-error)' : 'dimmed'} aria-live="polite">
              {wrong > 0 ? `${wrong} to mend` : editor.isChecking ? 'Checking…' : 'Unsaved'}
            </Text>
            <Button variant="default" onClick={editor.discard}>
              Discard
            </Button>
            <Button loading={save.isPending} disabled={!maySave} onClick={saveNow}>
              Save
            </Button>
          </Group>
        ) : flow ? (
          <ConfirmButton
            title="Take the flow away"
            text="The language model alone then leads the calls, by the prompt of the agent. Earlier versions keep the flow."
            confirm="Take it away"
            onConfirm={async () => editor.change(null)}
          >
            No flow
          </ConfirmButton>
        ) : null)
      }
    >
      {meanwhile !== null && !readOnly && (
        <SavedMeanwhile
          version={editor.agent.data?.version ?? 0}
          began={editor.began}
          text={
            meanwhile === 'flow'
              ? 'The newest version has another flow: yours would take its place.'
              : 'Its flow is the same: what else was changed stays when you save.'
          }
        >
          {meanwhile === 'flow' && (
            <>
              <Button size="xs" variant="default" onClick={editor.discard}>
                Load theirs
              </Button>
              <Button
                size="xs"
                variant="default"
                loading={save.isPending}
                disabled={wrong > 0}
                onClick={saveNow}
              >
                Save mine over theirs
              </Button>
            </>
          )}
        </SavedMeanwhile>
      )}
      {failure && !flow ? (
        <ErrorMessage error={failure} onRetry={retry} />
      ) : editor.agent.isPending || !forms ? (
        description.data && !forms ? (
          <ErrorMessage error={new Error('The description of the API has no flows.')} />
        ) : (
          <Skeleton h={480} radius="md" />
        )
      ) : !flow ? (
        <EmptyState
          icon={Workflow}
          title="No flow"
          text="The language model leads the call by the prompt alone. A flow lays down what comes after what: steps, and the conditions between them."
          action={!readOnly && <Button onClick={() => editor.change(newFlow())}>Begin a flow</Button>}
        />
      ) : (
        <Canvas
          flow={flow}
          forms={forms}
          errors={errors}
          readOnly={readOnly}
          change={editor.change}
          onUndo={editor.undo}
          onRedo={editor.redo}
        />
      )}
    </AgentFrame>
  );
}

function Canvas({
  flow,
  forms,
  errors,
  readOnly,
  change,
  onUndo,
  onRedo,
}: {
  flow: Flow;
  forms: NonNullable<ReturnType<typeof flowForms>>;
  errors: FlowErrors;
  readOnly: boolean;
  change: (next: Flow | null, group?: string | null) => void;
  onUndo: (() => void) | undefined;
  onRedo: (() => void) | undefined;
}) {
  const [selected, setSelected] = useState<Selected>(null);
  const [nodes, setNodes, onNodesChange] = useNodesState<CanvasNode>([]);
  const [edges, setEdges, onEdgesChange] = useEdgesState<Edge>([]);
  const canvas = useReactFlow();
  const isNarrow = useMediaQuery('(max-width: 62em)');
  const { ref, width, height } = useElementSize();

  // What the canvas knows besides, such as sizes and the selection, stays.
  useEffect(() => {
    setNodes((before) => {
      const known = new Map(before.map((node) => [node.id, node]));
      return flow.nodes.map((node) =>
        toCanvasNode(flow, node, { errors: errors.nodes.get(node.id), known: known.get(node.id) }),
      );
    });
    setEdges((before) => {
      const known = new Map(before.map((edge) => [edge.id, edge]));
      return flow.edges.map((edge) => toCanvasEdge(edge, errors.edges.has(edge.id), known.get(edge.id)));
    });
  }, [flow, errors, setNodes, setEdges]);

  const select = useCallback(({ nodes: some, edges: others }: OnSelectionChangeParams) => {
    const [node] = some;
    const [edge] = others;
    setSelected(
      node && some.length === 1
        ? { part: 'nodes', id: node.id }
        : edge && some.length === 0
          ? { part: 'edges', id: edge.id }
          : null,
    );
  }, []);
  const focus = (part: 'nodes' | 'edges', id: string) => {
    setSelected({ part, id });
    setNodes((all) => all.map((node) => ({ ...node, selected: part === 'nodes' && node.id === id })));
    setEdges((all) => all.map((edge) => ({ ...edge, selected: part === 'edges' && edge.id === id })));
  };
  const isDragged = useRef(false);
  /** What was moved is kept, by the mouse once it has come to rest, and by each press of an arrow. */
  const keepPlaces = (changes: readonly NodeChange<CanvasNode>[]) => {
    const moved = changes.flatMap((one) => (one.type === 'position' ? [one] : []));
    if (moved.some(({ dragging }) => dragging)) {
      isDragged.current = true;
      return;
    }
    const places = moved.flatMap(({ id, position }) => (position ? [[id, position] as const] : []));
    if (places.length === 0 || readOnly) return;
    const group = isDragged.current ? null : `moved ${places.map(([id]) => id).join(' ')}`;
    isDragged.current = false;
    change(place(flow, new Map(places)), group);
  };
  const add = (type: string, group: GroupField) => {
    const middle = canvas.screenToFlowPosition(centerOf(width, height));
    const position = { x: Math.round(middle.x - NODE_WIDTH / 2), y: Math.round(middle.y - NODE_HEIGHT / 2) };
    const { flow: next, id } = addNode(flow, { type, ...(emptyOf(group) as Json), position });
    change(next);
    requestAnimationFrame(() => focus('nodes', id));
  };
  const tidy = () => {
    change(place(flow, arrange(flow)));
    requestAnimationFrame(() => void canvas.fitView({ duration: 200 }));
  };
  const chosen = () => nodes.filter((node) => node.selected).map(({ id }) => id);
  useHotkeys([
    ['mod+Z', () => onUndo?.()],
    ['mod+shift+Z', () => onRedo?.()],
    ['mod+Y', () => onRedo?.()],
    ['mod+D', () => !readOnly && chosen().length > 0 && change(duplicate(flow, chosen()).flow)],
  ]);

  const inspector = (
    <FlowInspector
      key={selected ? `${selected.part}.${selected.id}` : 'flow'}
      flow={flow}
      forms={forms}
      selected={selected}
      errors={errors}
      readOnly={readOnly}
      onChange={(path, next) => {
        const group = `${selected?.id ?? ''}.${path.join('.')}`;
        if (selected) change(changed(flow, selected.part, selected.id, path, next), group);
        else change({ ...flow, [String(path[0])]: next }, group);
      }}
      onRename={(id) => {
        if (!selected) return;
        // The same node to the canvas, with its size, and selected as before.
        setNodes((all) => all.map((node) => (node.id === selected.id ? { ...node, id } : node)));
        setSelected({ part: 'nodes', id });
        change(rename(flow, selected.id, id));
      }}
      onConnect={(to) => {
        if (!selected) return;
        const next = connect(flow, selected.id, to);
        change(next);
        // What it waits for is to be said next.
        const made = next.edges.at(-1);
        if (next !== flow && made) requestAnimationFrame(() => focus('edges', made.id));
      }}
      onStart={() => selected && change({ ...flow, start_node_id: selected.id })}
      onRemove={() => {
        if (!selected) return;
        change(selected.part === 'nodes' ? remove(flow, [selected.id], []) : remove(flow, [], [selected.id]));
        setSelected(null);
      }}
    />
  );

  return (
    <Group gap="md" align="stretch" wrap="nowrap" h="max(420px, calc(100dvh - 240px))">
      <Card withBorder radius="md" p={0} flex={1} miw={0} ref={ref}>
        <FlowCanvas
          nodes={nodes}
          edges={edges}
          readOnly={readOnly}
          onlyRenderVisibleElements={flow.nodes.length > 80}
          aria-label="Flow"
          onNodesChange={(changes) => {
            onNodesChange(changes);
            keepPlaces(changes);
          }}
          onEdgesChange={onEdgesChange}
          onSelectionChange={select}
          onConnect={({ source, target }: Connection) => change(connect(flow, source, target))}
          onDelete={({ nodes: goneNodes, edges: goneEdges }) =>
            change(
              remove(
                flow,
                goneNodes.map(({ id }) => id),
                goneEdges.map(({ id }) => id),
              ),
            )
          }
        >
          {!isNarrow && flow.nodes.length > 12 && <MiniMap pannable zoomable />}
          <Toolbar
            forms={forms}
            readOnly={readOnly}
            onAdd={add}
            onTidy={tidy}
            onUndo={onUndo}
            onRedo={onRedo}
          />
        </FlowCanvas>
      </Card>
      {isNarrow ? (
        <Drawer
          opened={selected !== null}
          onClose={() => setSelected(null)}
          position="bottom"
          size="75%"
          title="Selected"
        >
          {inspector}
        </Drawer>
      ) : (
        <Card withBorder radius="md" p="md" w={380} style={{ overflowY: 'auto' }} component="aside">
          {inspector}
        </Card>
      )}
    </Group>
  );
}

function Toolbar({
  forms,
  readOnly,
  onAdd,
  onTidy,
  onUndo,
  onRedo,
}: {
  forms: NonNullable<ReturnType<typeof flowForms>>;
  readOnly: boolean;
  onAdd: (type: string, group: GroupField) => void;
  onTidy: () => void;
  onUndo: (() => void) | undefined;
  onRedo: (() => void) | undefined;
}) {
  if (readOnly) return null;
  return (
    <Box pos="absolute" top={12} left={12} style={{ zIndex: 5 }}>
      <Group gap={6}>
        <Menu position="bottom-start" shadow="md">
          <Menu.Target>
            <Button size="xs" leftSection={<Plus size={14} />}>
              Add
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {[...forms.nodes].map(([type, group]) => {
              const { icon: Icon, title } = lookOf(type);
              return (
                <Menu.Item key={type} leftSection={<Icon size={14} />} onClick={() => onAdd(type, group)}>
                  {title}
                </Menu.Item>
              );
            })}
          </Menu.Dropdown>
        </Menu>
        <ToolButton label="Undo (Ctrl+Z)" onClick={onUndo}>
          <Undo2 size={14} />
        </ToolButton>
        <ToolButton label="Redo (Ctrl+Shift+Z)" onClick={onRedo}>
          <Redo2 size={14} />
        </ToolButton>
        <ToolButton label="Tidy up" onClick={onTidy}>
          <LayoutGrid size={14} />
        </ToolButton>
      </Group>
    </Box>
  );
}

function ToolButton({
  label,
  onClick,
  children,
}: {
  label: string;
  onClick: (() => void) | undefined;
  children: React.ReactNode;
}) {
  return (
    <Tooltip label={label}>
      <ActionIcon size={30} variant="default" aria-label={label} disabled={!onClick} onClick={onClick}>
        {children}
      </ActionIcon>
    </Tooltip>
  );
}

/** The middle of the canvas on the screen. */
function centerOf(width: number, height: number): { x: number; y: number } {
  const box = document.querySelector('.react-flow')?.getBoundingClientRect();
  return { x: (box?.left ?? 0) + width / 2, y: (box?.top ?? 0) + height / 2 };
}
