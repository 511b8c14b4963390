import { Button, Group, Select, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api, take } from '../../api/client.ts';
import { idempotencyKey } from '../../api/idempotency-key.ts';
import type { components } from '../../api/schema.d.ts';
import { useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { inWords } from '../../components/format.ts';
import type { NewRecordProps } from './record-extras.tsx';
import { SecretFields, isWhole } from './secret-fields.tsx';
import type { SecretField } from './secret-fields.tsx';

type Carrier = components['schemas']['CreateTelephonyAccountRequest']['provider'];

/** What each carrier asks for, and where it shows that. */
const FIELDS: Readonly<Record<Carrier, readonly SecretField[]>> = {
  twilio: [
    { name: 'account_sid', label: 'Account SID', required: true },
    { name: 'auth_token', label: 'Auth token', required: true },
  ],
  telnyx: [
    { name: 'api_key', label: 'API key', required: true },
    { name: 'public_key', label: 'Public key of webhooks', required: true },
    {
      name: 'connection_id',
      label: 'Id of the Call Control application, for outbound calls',
      required: false,
    },
  ],
  plivo: [
    { name: 'auth_id', label: 'Auth ID', required: true },
    { name: 'auth_token', label: 'Auth token', required: true },
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
        <SecretFields fields={fields} values={values} onChange={setValues} />
        {save.error && <ErrorMessage error={save.error} />}
        <Group justify="flex-end">
          <Button
            type="submit"
            disabled={name.trim() === '' || !isWhole(fields, values)}
            loading={save.isPending}
          >
            Add and check
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
