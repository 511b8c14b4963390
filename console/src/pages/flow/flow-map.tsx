import { Box } from '@mantine/core';
import { ReactFlowProvider, useEdgesState, useNodesState, useReactFlow } from '@xyflow/react';
import { useEffect, useMemo } from 'react';
import { FlowCanvas } from './flow-canvas.tsx';
import { toCanvasEdge, toCanvasNode } from './flow-elements.ts';
import type { Flow } from './flow-graph.ts';
import { placed } from './flow-layout.ts';

/** So many nodes can be read together; of more, the one where the call is is brought into sight. */
const READABLE = 12;

/** A flow as a call goes through it. @param at the node where the call is; null: none of them */
export default function FlowMap({ flow, at }: { flow: Flow; at: string | null }) {
  const shown = useMemo(() => placed(flow), [flow]);
  return (
    <Box h={480}>
      <ReactFlowProvider>
        <GoneThrough flow={shown} at={at} />
      </ReactFlowProvider>
    </Box>
  );
}

function GoneThrough({ flow, at }: { flow: Flow; at: string | null }) {
  const isActive = (id: string) => id === at;
  const [nodes, setNodes, onNodesChange] = useNodesState(
    flow.nodes.map((node) => toCanvasNode(flow, node, { isActive: isActive(node.id) })),
  );
  const [edges, , onEdgesChange] = useEdgesState(
    flow.edges.map((edge) => toCanvasEdge(edge, false, undefined)),
  );
  const canvas = useReactFlow();
  useEffect(() => {
    setNodes((before) =>
      before.map((known, index) =>
        toCanvasNode(flow, flow.nodes[index]!, { known, isActive: known.id === at }),
      ),
    );
    if (at !== null && flow.nodes.length > READABLE)
      void canvas.fitView({ nodes: [{ id: at }], maxZoom: 0.8, duration: 200 });
  }, [flow, at, canvas, setNodes]);
  return (
    <FlowCanvas
      nodes={nodes}
      edges={edges}
      readOnly
      elementsSelectable={false}
      aria-label="Flow of the call"
      onNodesChange={onNodesChange}
      onEdgesChange={onEdgesChange}
    />
  );
}
