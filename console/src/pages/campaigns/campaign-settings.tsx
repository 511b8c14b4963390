import { Alert, Card, Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { useDescription } from '../../api/description.ts';
import { useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { patchBetween } from '../../components/schema-form/form-value.ts';
import type { Json } from '../../components/schema-form/form-value.ts';
import { RecordForm, pick } from '../records/record-forms.tsx';
import { bodyForm, editForm, operationsOf } from '../records/record-operations.ts';
import { mayDo, request } from '../records/record-request.ts';
import type { Campaign } from './campaign-words.ts';

/** What may be changed while people are called. */
const WHILE_RUNNING = ['max_concurrent', 'calls_per_second', 'end_at'];
const OVER = ['completed', 'cancelled', 'failed'];

/** How a campaign calls: the form of the description, as far as it may be changed now. */
export function CampaignSettings({ campaign, fallback }: { campaign: Campaign; fallback: ReactNode }) {
  const { role } = useProject();
  const queries = useQueryClient();
  const description = useDescription();
  const [changed, setChanged] = useState<unknown>(null);
  const record = campaign as unknown as Json;
  const schemas = description.data?.components.schemas ?? {};
  const operations =
    description.data && operationsOf(description.data, { one: 'Campaign', many: 'Campaigns' });
  const whole =
    operations && editForm(bodyForm(operations.create, schemas), operations.update, schemas, record);
  const isRunning = campaign.status === 'running';
  const form = whole && {
    ...whole,
    fields: isRunning ? whole.fields.filter(({ key }) => WHILE_RUNNING.includes(key)) : whole.fields,
  };
  const base = form && pick(record, form);
  const save = useMutation({
    mutationFn: () =>
      request('PATCH', `/v1/campaigns/${campaign.id}`, patchBetween(base, changed ?? base, form!) ?? {}),
    async onSuccess() {
      setChanged(null);
      notifications.show({ message: 'Saved.' });
      await queries.invalidateQueries({ queryKey: ['campaign', campaign.id] });
      await queries.invalidateQueries({ queryKey: ['campaigns'] });
    },
  });
  if (description.error)
    return <ErrorMessage error={description.error} onRetry={() => void description.refetch()} />;
  if (!form) return fallback;
  return (
    <Stack maw={820}>
      {isRunning && (
        <Alert variant="light" title="It runs">
          Pace and end can be changed while people are called. Pause it to change the rest.
        </Alert>
      )}
      <Card withBorder radius="md" p="md" bg="var(--parley-surface)">
        <RecordForm
          form={form}
          value={changed ?? base}
          error={save.error}
          busy={save.isPending}
          readOnly={!mayDo(operations?.update, role) || OVER.includes(campaign.status)}
          submit="Save"
          isUnchanged={changed === null}
          onChange={setChanged}
          onSubmit={() => save.mutate()}
          onCancel={() => setChanged(null)}
        />
      </Card>
    </Stack>
  );
}
