import { Badge } from '@mantine/core';
import type { ReactNode } from 'react';

const DOTS = {
  good: 'var(--mantine-color-green-6)',
  bad: 'var(--mantine-color-red-6)',
  busy: 'var(--mantine-color-blue-5)',
  none: 'var(--mantine-color-gray-5)',
} as const;

/** A word with a dot of its colour: the word can be read on any ground. */
export function OutcomeBadge({ tone, children }: { tone: keyof typeof DOTS; children: ReactNode }) {
  return (
    <Badge
      variant="default"
      size="sm"
      tt="none"
      fw={500}
      leftSection={<span className="dot" style={{ background: DOTS[tone] }} aria-hidden />}
    >
      {children}
    </Badge>
  );
}

/** How a tool call ended, in words. */
export function ToolOutcome({
  call: { ok, outcome },
  running,
}: {
  call: { ok: boolean | null; outcome: string | undefined };
  running: boolean;
}) {
  if (ok === null)
    return <OutcomeBadge tone={running ? 'busy' : 'none'}>{running ? 'running' : 'no answer'}</OutcomeBadge>;
  return (
    <OutcomeBadge tone={ok ? 'good' : 'bad'}>
      {(outcome ?? (ok ? 'succeeded' : 'failed')).replaceAll('_', ' ')}
    </OutcomeBadge>
  );
}
