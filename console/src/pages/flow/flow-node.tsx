import { Handle, Position } from '@xyflow/react';
import type { Node, NodeProps } from '@xyflow/react';
import { Badge, Box, Group, Text } from '@mantine/core';
import { memo } from 'react';
import type { ComponentType } from 'react';
import {
  Bot,
  Braces,
  Clock,
  ClipboardList,
  GitBranch,
  MessageSquare,
  PhoneForwarded,
  PhoneOff,
  Volume2,
  Wrench,
} from './flow-icons.ts';
import type { exitOf } from './flow-graph.ts';
import { NODE_WIDTH } from './flow-layout.ts';

export type CanvasNode = Node<
  {
    title: string;
    type: string;
    summary: string;
    isStart: boolean;
    isGlobal: boolean;
    exit: ReturnType<typeof exitOf>;
    /** A call is there. */
    isActive: boolean;
    errors: readonly string[];
  },
  'step'
>;

const LOOKS: Readonly<
  Record<string, { icon: ComponentType<{ size?: number }>; color: string; title: string }>
> = {
  conversation: { icon: MessageSquare, color: 'iris', title: 'Conversation' },
  say: { icon: Volume2, color: 'teal', title: 'Say' },
  collect: { icon: ClipboardList, color: 'cyan', title: 'Collect' },
  set: { icon: Braces, color: 'gray', title: 'Set' },
  tool: { icon: Wrench, color: 'orange', title: 'Tool' },
  branch: { icon: GitBranch, color: 'grape', title: 'Branch' },
  transfer: { icon: PhoneForwarded, color: 'indigo', title: 'Transfer' },
  agent: { icon: Bot, color: 'indigo', title: 'Other agent' },
  wait: { icon: Clock, color: 'yellow', title: 'Wait' },
  end: { icon: PhoneOff, color: 'red', title: 'End' },
};

export function lookOf(type: string) {
  return LOOKS[type] ?? { icon: Braces, color: 'gray', title: type };
}

/** A node on the canvas. */
export const StepNode = memo(function StepNode({ data, selected }: NodeProps<CanvasNode>) {
  const { icon: Icon, color, title } = lookOf(data.type);
  const isWrong = data.errors.length > 0;
  const border = isWrong
    ? 'var(--mantine-color-error)'
    : selected || data.isActive
      ? 'var(--mantine-primary-color-filled)'
      : 'var(--mantine-color-default-border)';
  return (
    <Box
      w={NODE_WIDTH}
      px="sm"
      py={8}
      title={data.errors.join('\n')}
      data-lit={data.isActive || undefined}
      style={{
        background: 'var(--parley-surface, var(--mantine-color-body))',
        border: `1px solid ${border}`,
        boxShadow: data.isActive
          ? `0 0 0 2px ${border}, 0 0 16px ${border}`
          : selected
            ? `0 0 0 1px ${border}`
            : 'var(--mantine-shadow-xs)',
        borderRadius: 'var(--mantine-radius-md)',
      }}
    >
      <Handle type="target" position={Position.Top} />
      <Group gap={8} wrap="nowrap">
        <Box
          style={{
            color: `var(--mantine-color-${color}-light-color)`,
            background: `var(--mantine-color-${color}-light)`,
          }}
          w={24}
          h={24}
          display="flex"
          bdrs="sm"
        >
          <Box m="auto" lh={0}>
            <Icon size={14} />
          </Box>
        </Box>
        <Text size="sm" fw={600} truncate flex={1}>
          {data.title}
        </Text>
        {data.isStart && (
          <Badge size="xs" variant="dot" color="green" tt="none">
            start
          </Badge>
        )}
        {data.isGlobal && (
          <Badge size="xs" variant="dot" color="grape" tt="none">
            anywhere
          </Badge>
        )}
      </Group>
      <Text size="xs" c={isWrong ? 'var(--mantine-color-error)' : 'dimmed'} lineClamp={2} mt={4} mih={32}>
        {isWrong ? data.errors[0] : data.summary || title}
      </Text>
      {data.exit !== 'none' && (
        <Handle
          type="source"
          position={Position.Bottom}
          isConnectable={data.exit === 'open'}
          style={data.exit === 'closed' ? { visibility: 'hidden' } : {}}
        />
      )}
    </Box>
  );
});
