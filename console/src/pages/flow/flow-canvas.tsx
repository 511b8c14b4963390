import '@xyflow/react/dist/style.css';
import { useComputedColorScheme } from '@mantine/core';
import { Background, Controls, ReactFlow } from '@xyflow/react';
import type { Edge, ReactFlowProps } from '@xyflow/react';
import { StepNode } from './flow-node.tsx';
import type { CanvasNode } from './flow-node.tsx';

const NODE_TYPES = { step: StepNode };

/**
 * Nodes and edges of a flow, to be moved about and zoomed.
 * @param props.readOnly nodes are neither dragged, joined nor deleted
 */
export function FlowCanvas({
  readOnly,
  children,
  ...props
}: Omit<ReactFlowProps<CanvasNode, Edge>, 'nodeTypes'> & { readOnly: boolean }) {
  // The one that the person has chosen, which need not be the system's.
  const scheme = useComputedColorScheme('light');
  return (
    <ReactFlow
      {...props}
      nodeTypes={NODE_TYPES}
      colorMode={scheme}
      fitView
      fitViewOptions={{ maxZoom: 1, padding: 0.2 }}
      minZoom={0.1}
      nodesDraggable={!readOnly}
      nodesConnectable={!readOnly}
      deleteKeyCode={readOnly ? null : ['Delete', 'Backspace']}
      proOptions={{ hideAttribution: true }}
    >
      <Background gap={20} />
      <Controls showInteractive={false} />
      {children}
    </ReactFlow>
  );
}
