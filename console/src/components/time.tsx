import { Tooltip } from '@mantine/core';
import { useContext } from 'react';
import { ProjectValue } from '../app/project.ts';
import { formatTime } from './format.ts';
import type { TimeForm } from './format.ts';

const TOUCHED = { hover: true, focus: true, touch: true };

/** A moment in the project's zone; UTC when pointed at or touched. */
export function Time({
  value,
  form = 'short',
  fallback = '–',
}: {
  value: string | null | undefined;
  form?: TimeForm;
  fallback?: string;
}) {
  const timezone = useContext(ProjectValue)?.timezone ?? 'UTC';
  if (value == null) return <>{fallback}</>;
  return (
    <Tooltip events={TOUCHED} label={`${new Date(value).toISOString().slice(0, 19).replace('T', ' ')} UTC`}>
      <time dateTime={value} style={{ whiteSpace: 'nowrap', fontVariantNumeric: 'tabular-nums' }}>
        {formatTime(value, timezone, form)}
      </time>
    </Tooltip>
  );
}
