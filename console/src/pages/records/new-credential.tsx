import { Button, Group, Select, Stack, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { readAll } from '../../api/list-pages.ts';
import type { components } from '../../api/schema.d.ts';
import { useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { QueryContent } from '../../components/query-content.tsx';
import type { NewRecordProps } from './record-extras.tsx';
import { SecretFields, isWhole } from './secret-fields.tsx';

type Provider = components['schemas']['Provider'];

/** Adds an account at a provider, with the fields that this provider asks for. */
export default function NewCredential({ onChanged, onDone }: NewRecordProps) {
  const providers = useQuery({
    queryKey: ['providers'],
    staleTime: Infinity,
    queryFn: () =>
      readAll(
        (page) => take(api.GET('/v1/providers', { params: { query: page } })),
        ({ provider }) => provider,
      ),
  });
  return (
    <QueryContent query={providers}>
      {(all) => (
        <Form
          providers={all.filter(({ self_hosted }) => !self_hosted)}
          onDone={() => {
            onChanged();
            onDone();
          }}
        />
      )}
    </QueryContent>
  );
}

function Form({ providers, onDone }: { providers: readonly Provider[]; onDone: () => void }) {
  const { orgId } = useProject();
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<string | null>(null);
  const [values, setValues] = useState<Record<string, string>>({});
  const [baseUrl, setBaseUrl] = useState('');
  const provider = providers.find((one) => one.provider === chosen);
  const fields = provider?.credential_fields ?? [];
  const save = useMutation({
    mutationFn: (kind: Provider) =>
      take(
        api.POST('/v1/orgs/{org_id}/provider-credentials', {
          params: { path: { org_id: orgId } },
          body: {
            provider: kind.provider as never,
            name: name.trim(),
            values: Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '')),
            base_url: baseUrl.trim() === '' ? null : baseUrl.trim(),
          },
        }),
      ),
    onSuccess: onDone,
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (provider) save.mutate(provider);
      }}
    >
      <Stack>
        <Select
          label="Provider"
          placeholder="Choose a provider"
          searchable
          limit={100}
          allowDeselect={false}
          data={providers.map((one) => ({ value: one.provider, label: one.name }))}
          value={chosen}
          onChange={(next) => {
            setChosen(next);
            setValues({});
          }}
        />
        <TextInput
          label="Name"
          maxLength={120}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <SecretFields fields={fields} values={values} onChange={setValues} />
        <TextInput
          label="Address"
          description="Of a server of your own that speaks as the provider does. Empty: the provider’s."
          placeholder="https://"
          value={baseUrl}
          onChange={(event) => setBaseUrl(event.currentTarget.value)}
        />
        {save.error && <ErrorMessage error={save.error} />}
        <Group justify="flex-end">
          <Button
            type="submit"
            disabled={!provider || name.trim() === '' || !isWhole(fields, values)}
            loading={save.isPending}
          >
            Create
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
