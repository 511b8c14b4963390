import { Button, Group, PasswordInput, Select, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api, take } from '../../api/client.ts';
import { idempotencyKey } from '../../api/idempotency-key.ts';
import type { components } from '../../api/schema.d.ts';
import { useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { inWords } from '../../components/format.ts';
import type { NewRecordProps } from './record-extras.tsx';

type Carrier = components['schemas']['CreateTelephonyAccountRequest']['provider'];

/** What each carrier asks for, and where it shows that. */
const FIELDS: Readonly<Record<Carrier, readonly { name: string; label: string; optional?: true }[]>> = {
  twilio: [
    { name: 'account_sid', label: 'Account SID' },
    { name: 'auth_token', label: 'Auth token' },
  ],
  telnyx: [
    { name: 'api_key', label: 'API key' },
    { name: 'public_key', label: 'Public key of webhooks' },
    {
      name: 'connection_id',
      label: 'Id of the Call Control application, for outbound calls',
      optional: true,
    },
  ],
  plivo: [
    { name: 'auth_id', label: 'Auth ID' },
    { name: 'auth_token', label: 'Auth token' },
  ],
};

/** Adds an account at a carrier, with the fields that this carrier asks for. */
export default function NewAccount({ onChanged, onDone }: NewRecordProps) {
  const { orgId } = useProject();
  const [provider, setProvider] = useState<Carrier>('twilio');
  const [name, setName] = useState('');
  const [values, setValues] = useState<Record<string, string>>({});
  // The same once more makes no second account.
  const key = useMemo(() => idempotencyKey(), [name, provider, values]);
  const fields = FIELDS[provider];
  const save = useMutation({
    async mutationFn() {
      const credentials = Object.fromEntries(
        Object.entries(values)
          .map(([field, value]) => [field, value.trim()] as const)
          .filter(([, value]) => value !== ''),
      );
      const { id } = await take(
        api.POST('/v1/orgs/{org_id}/telephony-accounts', {
          params: { path: { org_id: orgId }, header: { 'Idempotency-Key': key } },
          body: { name: name.trim(), provider, credentials },
        }),
      );
      // Nothing goes through it before its carrier has taken the credentials; what it says is shown with the account.
      await take(
        api.POST('/v1/telephony-accounts/{telephony_account_id}/verify', {
          params: { path: { telephony_account_id: id } },
        }),
      );
    },
    onSuccess: onDone,
    onSettled: onChanged,
  });
  const isWhole = fields.every((field) => field.optional || (values[field.name] ?? '').trim() !== '');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <Stack>
        <Select
          label="Carrier"
          allowDeselect={false}
          data={Object.keys(FIELDS).map((value) => ({ value, label: inWords(value) }))}
          value={provider}
          onChange={(next) => {
            setProvider(next as Carrier);
            setValues({});
          }}
        />
        <TextInput
          label="Name"
          maxLength={120}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        {fields.map(({ name: field, label, optional }) => (
          <PasswordInput
            key={field}
            label={label}
            withAsterisk={!optional}
            autoComplete="off"
            value={values[field] ?? ''}
            onChange={(event) => setValues({ ...values, [field]: event.currentTarget.value })}
          />
        ))}
        {save.error && <ErrorMessage error={save.error} />}
        <Group justify="flex-end">
          <Button type="submit" disabled={name.trim() === '' || !isWhole} loading={save.isPending}>
            Add and check
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
