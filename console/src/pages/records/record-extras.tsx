import { Suspense, lazy } from 'react';
import { Skeleton } from '@mantine/core';
import type { Json } from '../../components/schema-form/form-value.ts';

export interface ExtraProps {
  record: Json;
  onChanged: () => void;
}

/** What a kind of record has besides its form. */
const EXTRAS: Readonly<Record<string, ReturnType<typeof lazy<React.ComponentType<ExtraProps>>>>> = {
  'knowledge-bases': lazy(() => import('./knowledge-extra.tsx')),
  databases: lazy(() => import('./database-extra.tsx')),
  voices: lazy(() => import('./voice-extra.tsx')),
};

export function RecordExtras({ kindId, record, onChanged }: ExtraProps & { kindId: string }) {
  const Extra = EXTRAS[kindId];
  if (!Extra) return null;
  return (
    <Suspense fallback={<Skeleton h={80} />}>
      <Extra record={record} onChanged={onChanged} />
    </Suspense>
  );
}
