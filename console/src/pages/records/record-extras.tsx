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
  'audio-assets': lazy(() => import('./audio-extra.tsx')),
  databases: lazy(() => import('./database-extra.tsx')),
  'phone-numbers': lazy(() => import('./number-extra.tsx')),
  'provider-credentials': lazy(() => import('./credential-extra.tsx')),
  'telephony-accounts': lazy(() => import('./account-extra.tsx')),
  'recipient-lists': lazy(() => import('./recipients-extra.tsx')),
  voices: lazy(() => import('./voice-extra.tsx')),
};

export interface NewRecordProps {
  onChanged: () => void;
  onDone: () => void;
}

/** What makes records of a kind, where a form of the description is not enough. */
export const NEW_RECORDS: Readonly<
  Record<string, ReturnType<typeof lazy<React.ComponentType<NewRecordProps>>>>
> = {
  'audio-assets': lazy(() => import('./new-audio.tsx')),
  'phone-numbers': lazy(() => import('./new-number.tsx')),
  'provider-credentials': lazy(() => import('./new-credential.tsx')),
  'telephony-accounts': lazy(() => import('./new-account.tsx')),
  voices: lazy(() => import('./new-voice.tsx')),
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
