import { Card, Group, NumberInput, Select, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { api, take } from '../../api/client.ts';
import { lastProject, projectQuery, useProject } from '../../app/project.ts';
import type { Project } from '../../app/project.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { QueryContent } from '../../components/query-content.tsx';
import { SettingsCard } from '../../components/settings-card.tsx';
import { Time } from '../../components/time.tsx';

export default function ProjectSettingsPage() {
  const { projectId } = useProject();
  const query = useQuery(projectQuery(projectId));
  return (
    <>
      <PageHeader
        title="Project"
        text="What holds for all agents and calls of this project."
        request={{ method: 'GET', path: `/v1/projects/${projectId}` }}
      />
      <QueryContent query={query}>
        {(project) => (
          <Stack>
            <Settings key={project.updated_at} project={project} />
            <Archive project={project} />
          </Stack>
        )}
      </QueryContent>
    </>
  );
}

function Settings({ project }: { project: Project }) {
  const { orgId, can } = useProject();
  const queries = useQueryClient();
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: {
      name: project.name,
      description: project.description,
      timezone: project.timezone,
      recording_enabled: project.recording_enabled,
      retention_days: project.retention_days ?? '',
    },
    validate: { name: (value) => (value.trim() === '' ? 'A project needs a name' : null) },
  });
  const save = useMutation({
    mutationFn: ({ retention_days, ...rest }: typeof form.values) =>
      take(
        api.PATCH('/v1/projects/{project_id}', {
          params: { path: { project_id: project.id } },
          body: { ...rest, retention_days: retention_days === '' ? null : Number(retention_days) },
        }),
      ),
    async onSuccess() {
      notifications.show({ message: 'Saved.' });
      await queries.invalidateQueries({ queryKey: ['project', project.id] });
      await queries.invalidateQueries({ queryKey: ['projects', orgId] });
    },
  });
  const disabled = !can('administer') || project.archived_at != null;
  return (
    <SettingsCard save={save} disabled={disabled} onSubmit={form.onSubmit((values) => save.mutate(values))}>
      <TextInput label="Name" disabled={disabled} {...form.getInputProps('name')} />
      <Textarea
        label="What it is for"
        autosize
        minRows={2}
        disabled={disabled}
        {...form.getInputProps('description')}
      />
      <Select
        label="Timezone"
        description="Times of the console and calling hours without a zone of their own"
        placeholder="UTC"
        searchable
        clearable
        disabled={disabled}
        data={['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]}
        {...form.getInputProps('timezone')}
      />
      <Switch
        label="Calls may be recorded"
        disabled={disabled}
        {...form.getInputProps('recording_enabled', { type: 'checkbox' })}
      />
      <NumberInput
        label="Days until calls are erased"
        description="Empty: as the organisation says, or never"
        min={0}
        allowDecimal={false}
        disabled={disabled}
        {...form.getInputProps('retention_days')}
      />
    </SettingsCard>
  );
}

/** The end of a project: what it holds can still be read. */
function Archive({ project: { id, name, archived_at } }: { project: Project }) {
  const { orgId, can } = useProject();
  const queries = useQueryClient();
  const navigate = useNavigate();
  async function archive() {
    await take(api.DELETE('/v1/projects/{project_id}', { params: { path: { project_id: id } } }));
    notifications.show({ message: `“${name}” is archived.` });
    await queries.invalidateQueries({ queryKey: ['projects', orgId] });
    await navigate({ to: `/orgs/${orgId}/projects` });
    await queries.invalidateQueries({ queryKey: ['project', id] });
    lastProject.forget();
  }
  if (archived_at != null)
    return (
      <Text size="sm" maw={640}>
        Archived <Time value={archived_at} form="date" />. What it holds can be read, and not be changed.
      </Text>
    );
  if (!can('administer')) return null;
  return (
    <Card withBorder maw={640} padding="lg" bg="var(--parley-surface)">
      <Group justify="space-between">
        <Text size="sm" flex={1} miw={200}>
          The API keys of a project that is archived stop working, and nothing of it can be changed. What it
          holds can still be read. Campaigns that are not over and active numbers are in the way of it.
        </Text>
        <ConfirmButton
          title={`Archive “${name}”?`}
          text={
            <>
              The API keys of <bdi>{name}</bdi> stop working at once, and nothing of it can be changed any
              more. It cannot be brought back.
            </>
          }
          confirm="Archive"
          onConfirm={archive}
        >
          Archive project
        </ConfirmButton>
      </Group>
    </Card>
  );
}
