import { Anchor, Button, Card, Code, Group, Select, Stack, Table, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { usePages } from '../../api/use-pages.ts';
import { useProject } from '../../app/project.ts';
import { Plus } from '../../components/build-icons.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { inWords } from '../../components/format.ts';
import { LoadMore } from '../../components/load-more.tsx';
import { Loading } from '../../components/loading.tsx';
import { useChoices } from '../../components/schema-form/references.ts';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import { useRefreshCampaign } from './campaign-actions.tsx';
import type { Contact } from './campaign-words.ts';

/** Somebody whom a campaign calls: who, what the agent knows of them, and each attempt with its call. */
export function ContactDetails({ contact, onGone }: { contact: Contact; onGone: () => void }) {
  const { projectId, can } = useProject();
  const refresh = useRefreshCampaign(contact.campaign_id);
  const params = { path: { contact_id: contact.id } };
  const attempts = usePages({
    queryKey: ['attempts', contact.id, contact.updated_at],
    read: (page) =>
      take(api.GET('/v1/campaign-contacts/{contact_id}/attempts', { params: { ...params, query: page } })),
  });
  const mayEdit = can('edit') && ['pending', 'waiting_retry'].includes(contact.status);
  return (
    <Stack gap="lg">
      <Group gap="sm">
        <StatusBadge status={contact.status} />
        {contact.skip_reason !== null && <Text size="sm">{inWords(contact.skip_reason)}</Text>}
        {contact.next_attempt_at !== null && (
          <Text size="sm" c="dimmed" component="div">
            Called again <Time value={contact.next_attempt_at} />
          </Text>
        )}
      </Group>
      <Edit contact={contact} readOnly={!mayEdit} />
      <section aria-labelledby="attempts">
        <Text fw={600} size="sm" id="attempts" mb="xs">
          Attempts
        </Text>
        {attempts.error ? (
          <ErrorMessage error={attempts.error} onRetry={attempts.retry} />
        ) : !attempts.items ? (
          <Loading height="80px" />
        ) : attempts.items.length === 0 ? (
          <Text size="sm" c="dimmed">
            Not called yet.
          </Text>
        ) : (
          <Card withBorder radius="md" p={0}>
            <Table>
              <Table.Tbody>
                {attempts.items.map((attempt) => (
                  <Table.Tr key={attempt.id}>
                    <Table.Td>
                      <Anchor
                        size="sm"
                        renderRoot={(props) => (
                          <Link
                            {...props}
                            to="/projects/$projectId/calls/$sessionId"
                            params={{ projectId, sessionId: attempt.session_id }}
                          />
                        )}
                      >
                        Attempt {attempt.attempt_number}
                      </Anchor>
                    </Table.Td>
                    <Table.Td>
                      <Time value={attempt.started_at ?? attempt.queued_at} />
                    </Table.Td>
                    <Table.Td ta="right">
                      <StatusBadge status={attempt.outcome ?? attempt.status} />
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
            <LoadMore shown={attempts.items.length} {...attempts} />
          </Card>
        )}
      </section>
      <Text size="xs" c="dimmed">
        <Code>{contact.id}</Code>
      </Text>
      {mayEdit && (
        <Group>
          <ConfirmButton
            color="red"
            title="Delete the contact?"
            text="This person is not called by this campaign any more."
            confirm="Delete"
            onConfirm={async () => {
              await take(api.DELETE('/v1/campaign-contacts/{contact_id}', { params }));
              await refresh();
              onGone();
            }}
          >
            Delete
          </ConfirmButton>
        </Group>
      )}
    </Stack>
  );
}

function Edit({ contact, readOnly }: { contact: Contact; readOnly: boolean }) {
  const refresh = useRefreshCampaign(contact.campaign_id);
  const [name, setName] = useState(contact.name ?? '');
  const [number, setNumber] = useState(contact.phone_number ?? '');
  const [timezone, setTimezone] = useState(contact.timezone);
  const zones = useChoices('zone');
  const save = useMutation({
    mutationFn: () =>
      take(
        api.PATCH('/v1/campaign-contacts/{contact_id}', {
          params: { path: { contact_id: contact.id } },
          body: { name: name.trim() === '' ? null : name.trim(), phone_number: number.trim(), timezone },
        }),
      ),
    onSuccess: refresh,
  });
  const variables = Object.entries(contact.variables);
  const isChanged =
    name !== (contact.name ?? '') || number !== (contact.phone_number ?? '') || timezone !== contact.timezone;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <Stack gap="sm">
        <TextInput
          label="Number"
          value={number}
          readOnly={readOnly}
          onChange={(event) => setNumber(event.currentTarget.value)}
        />
        <TextInput
          label="Name"
          value={name}
          readOnly={readOnly}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Select
          label="Timezone"
          description="For the hours at which this person is called."
          searchable
          clearable
          readOnly={readOnly}
          limit={50}
          data={zones as never}
          value={timezone}
          onChange={setTimezone}
        />
        {variables.length > 0 && (
          <div>
            <Text size="sm" fw={500} mb={4}>
              What the agent knows
            </Text>
            <Table fz="xs" withTableBorder>
              <Table.Tbody>
                {variables.map(([key, value]) => (
                  <Table.Tr key={key}>
                    <Table.Th w={150} style={{ overflowWrap: 'anywhere' }}>
                      {key}
                    </Table.Th>
                    <Table.Td style={{ overflowWrap: 'anywhere' }}>{value}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </div>
        )}
        {save.error && <ErrorMessage error={save.error} />}
        {!readOnly && (
          <Group justify="flex-end">
            <Button type="submit" disabled={!isChanged} loading={save.isPending}>
              Save
            </Button>
          </Group>
        )}
      </Stack>
    </form>
  );
}

const SKIPPED: Readonly<Record<string, string>> = {
  invalid_number: 'This is no telephone number. Write it with its country code, such as +14155550100.',
  duplicate: 'This number is a contact already.',
  suppressed: 'This number is on a do-not-call list.',
};

/** Adds one person. */
export function AddContact({ campaignId }: { campaignId: string }) {
  const [opened, dialog] = useDisclosure(false);
  const [number, setNumber] = useState('');
  const [name, setName] = useState('');
  const refresh = useRefreshCampaign(campaignId);
  const close = () => {
    dialog.close();
    setNumber('');
    setName('');
  };
  async function add() {
    const { skipped } = await take(
      api.POST('/v1/campaigns/{campaign_id}/contacts', {
        params: { path: { campaign_id: campaignId } },
        body: { contacts: [{ phone_number: number, ...(name.trim() !== '' && { name: name.trim() }) }] },
      }),
    );
    const reason = skipped[0]?.reason;
    if (reason !== undefined) throw new Error(SKIPPED[reason] ?? inWords(reason));
    await refresh();
  }
  return (
    <>
      <Button variant="default" leftSection={<Plus size={15} />} onClick={dialog.open}>
        Add
      </Button>
      <FormDialog title="Add a contact" opened={opened} onClose={close} submit="Add" onSubmit={add}>
        <TextInput
          label="Number"
          placeholder="+14155550100"
          data-autofocus
          value={number}
          onChange={(event) => setNumber(event.currentTarget.value)}
        />
        <TextInput label="Name" value={name} onChange={(event) => setName(event.currentTarget.value)} />
      </FormDialog>
    </>
  );
}
