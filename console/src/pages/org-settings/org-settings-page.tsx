import { NumberInput, Select, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, take } from '../../api/client.ts';
import type { components } from '../../api/schema.d.ts';
import { useOrg } from '../../app/project.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { QueryContent } from '../../components/query-content.tsx';
import { SettingsCard } from '../../components/settings-card.tsx';

type Org = components['schemas']['Org'];

export default function OrgSettingsPage() {
  const { orgId } = useOrg();
  const query = useQuery({
    queryKey: ['org', orgId],
    queryFn: () => take(api.GET('/v1/orgs/{org_id}', { params: { path: { org_id: orgId } } })),
  });
  return (
    <>
      <PageHeader
        title="Organisation"
        text="What holds for all projects, where they say nothing of their own."
        request={{ method: 'GET', path: `/v1/orgs/${orgId}` }}
      />
      <QueryContent query={query}>{(org) => <Settings key={org.updated_at} org={org} />}</QueryContent>
    </>
  );
}

function Settings({ org }: { org: Org }) {
  const { can } = useOrg();
  const queries = useQueryClient();
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: {
      name: org.name,
      timezone: org.timezone,
      language: org.language,
      currency: org.currency,
      retention_days: (org.retention_days ?? '') as number | string,
      media_link_days: org.media_link_days as number | string,
    },
    validate: { name: (value) => (value.trim() === '' ? 'An organisation needs a name' : null) },
  });
  const save = useMutation({
    mutationFn: ({ retention_days, media_link_days, ...rest }: typeof form.values) =>
      take(
        api.PATCH('/v1/orgs/{org_id}', {
          params: { path: { org_id: org.id } },
          body: {
            ...rest,
            retention_days: retention_days === '' ? null : Number(retention_days),
            media_link_days: Number(media_link_days),
          },
        }),
      ),
    async onSuccess() {
      notifications.show({ message: 'Saved.' });
      await queries.invalidateQueries({ queryKey: ['org', org.id] });
      // Its name stands in the profile.
      await queries.invalidateQueries({ queryKey: ['profile'] });
    },
  });
  const disabled = !can('administer');
  return (
    <SettingsCard save={save} disabled={disabled} onSubmit={form.onSubmit((values) => save.mutate(values))}>
      <TextInput label="Name" disabled={disabled} {...form.getInputProps('name')} />
      <Select
        label="Timezone"
        description="Of projects that have none"
        searchable
        allowDeselect={false}
        disabled={disabled}
        data={['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]}
        {...form.getInputProps('timezone')}
      />
      <TextInput
        label="Language"
        description="Of texts to people, such as en-US"
        disabled={disabled}
        {...form.getInputProps('language')}
      />
      <TextInput
        label="Currency"
        description="Of costs, such as USD"
        maxLength={3}
        disabled={disabled}
        {...form.getInputProps('currency')}
      />
      <NumberInput
        label="Days until calls are erased"
        description="Empty: never, unless a project says so"
        min={1}
        max={3650}
        allowDecimal={false}
        disabled={disabled}
        {...form.getInputProps('retention_days')}
      />
      <NumberInput
        label="Days for which links to recordings hold"
        min={1}
        max={30}
        allowDecimal={false}
        disabled={disabled}
        {...form.getInputProps('media_link_days')}
      />
    </SettingsCard>
  );
}
