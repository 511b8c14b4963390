import { Button, Checkbox, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { useProject } from '../../app/project.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { countOf } from '../../components/format.ts';
import { tellFailure } from '../../components/tell-failure.ts';
import { actsOf } from './campaign-words.ts';
import type { Campaign } from './campaign-words.ts';

/** What can be done with a campaign now. */
export function CampaignActions({ campaign }: { campaign: Campaign }) {
  const { projectId, can } = useProject();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const refresh = useRefreshCampaign(campaign.id);
  const params = { path: { campaign_id: campaign.id } };
  const act = useMutation({
    mutationFn: (what: 'start' | 'pause' | 'resume') =>
      take(api.POST(`/v1/campaigns/{campaign_id}/${what}`, { params })),
    onSuccess: refresh,
    onError: (error) => tellFailure('This did not work', error),
  });
  if (!can('edit')) return null;
  const acts = actsOf(campaign);
  const simple = (what: 'start' | 'pause' | 'resume', label: string) =>
    acts.includes(what) && (
      <Button
        {...(what === 'pause' && { variant: 'default' })}
        loading={act.isPending && act.variables === what}
        onClick={() => act.mutate(what)}
      >
        {label}
      </Button>
    );
  const left = campaign.counters.pending + campaign.counters.waiting_retry;
  return (
    <>
      {simple('start', 'Start')}
      {simple('pause', 'Pause')}
      {simple('resume', 'Resume')}
      {acts.includes('redial') && <Redial campaign={campaign} />}
      {acts.includes('cancel') && (
        <ConfirmButton
          title={`Cancel ${campaign.name}?`}
          text={`It is over for good: ${countOf(left, 'contact is', 'contacts are')} not called any more. Calls under way go on to their end.`}
          confirm="Cancel the campaign"
          onConfirm={async () => {
            await take(api.POST('/v1/campaigns/{campaign_id}/cancel', { params }));
            await refresh();
          }}
        >
          Cancel
        </ConfirmButton>
      )}
      {acts.includes('delete') && (
        <ConfirmButton
          title={`Delete ${campaign.name}?`}
          text="Its contacts go with it. The calls that were held stay."
          confirm="Delete"
          onConfirm={async () => {
            await take(api.DELETE('/v1/campaigns/{campaign_id}', { params }));
            // Away first: on its page the campaign would be read again, and not be found.
            await navigate({ to: `/projects/${projectId}/campaigns` });
            await queries.invalidateQueries({ queryKey: ['campaigns'] });
          }}
        >
          Delete
        </ConfirmButton>
      )}
    </>
  );
}

/** Reads a campaign, its contacts and the list again. */
export function useRefreshCampaign(id: string): () => Promise<unknown> {
  const queries = useQueryClient();
  return () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: ['campaign', id] }),
      queries.invalidateQueries({ queryKey: ['contacts', id] }),
      queries.invalidateQueries({ queryKey: ['campaigns'] }),
    ]);
}

/** Whose last attempt came to what. */
const OUTCOMES = [
  { value: 'no_answer', label: 'No answer' },
  { value: 'busy', label: 'Busy' },
  { value: 'voicemail', label: 'Voicemail' },
  { value: 'rejected', label: 'Declined' },
  { value: 'failed', label: 'Could not be reached' },
  { value: 'answered', label: 'Answered' },
] as const;
type Outcome = (typeof OUTCOMES)[number]['value'];

function Redial({ campaign }: { campaign: Campaign }) {
  const [opened, dialog] = useDisclosure(false);
  const [outcomes, setOutcomes] = useState<Outcome[]>(['no_answer', 'busy', 'failed']);
  const refresh = useRefreshCampaign(campaign.id);
  async function redial() {
    if (outcomes.length === 0) return false;
    const { requeued } = await take(
      api.POST('/v1/campaigns/{campaign_id}/redial', {
        params: { path: { campaign_id: campaign.id } },
        body: { outcomes },
      }),
    );
    await refresh();
    notifications.show({
      message:
        requeued === 0
          ? 'Nobody was found whose last call ended so.'
          : `${countOf(requeued, 'contact is', 'contacts are')} to be called again.`,
    });
    return true;
  }
  return (
    <>
      <Button variant="default" onClick={dialog.open}>
        Redial
      </Button>
      <FormDialog
        title="Call people again"
        opened={opened}
        onClose={dialog.close}
        submit="Redial"
        onSubmit={redial}
      >
        <Stack>
          <Checkbox.Group
            label="Those whose last call came to"
            value={outcomes}
            onChange={(chosen) => setOutcomes(chosen as Outcome[])}
            {...(outcomes.length === 0 && { error: 'Choose at least one.' })}
          >
            <Stack gap="xs" mt="xs">
              {OUTCOMES.map(({ value, label }) => (
                <Checkbox key={value} value={value} label={label} />
              ))}
            </Stack>
          </Checkbox.Group>
          <Text size="sm" c="dimmed">
            They get as many attempts as new contacts.
            {campaign.status === 'completed' && ' The campaign is paused by it: resume it to call them.'}
          </Text>
        </Stack>
      </FormDialog>
    </>
  );
}
