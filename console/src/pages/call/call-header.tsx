import { Badge, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import { DIRECTION_WORDS, endOf, farEndOf, wordFor } from '../calls/call-words.ts';
import type { Session } from './call-data.ts';

/** Who called or was called, when, and how the call stands. */
export function CallHeader({ session, actions }: { session: Session; actions?: ReactNode }) {
  const end = endOf(session);
  return (
    <PageHeader
      title={farEndOf(session) ?? (session.direction === 'web' ? 'Web call' : 'Unknown caller')}
      text={
        <Group gap={8} component="span">
          <StatusBadge status={session.status} />
          <Badge variant="outline" color="gray" radius="sm" tt="none">
            {wordFor(DIRECTION_WORDS, session.direction)}
          </Badge>
          {end !== null && (
            <Text span size="sm" c={session.failure_reason === null ? 'dimmed' : 'red'}>
              {end}
            </Text>
          )}
          <Text span size="sm" c="dimmed">
            <Time value={session.started_at ?? session.created_at} form="long" />
          </Text>
        </Group>
      }
      actions={actions}
    />
  );
}
