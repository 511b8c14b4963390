import { Alert, Button, Group, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { api, take } from '../../api/client.ts';
import { useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import type { ExtraProps } from './record-extras.tsx';

const WHY: Readonly<Record<string, string>> = {
  auth: 'The provider refused the credentials.',
  rate_limit: 'The provider refused the request: too many have come. Try again in a minute.',
  unavailable: 'The provider could not be reached, or failed. Try again.',
  timeout: 'The provider did not answer in time. Try again.',
  address_not_allowed: 'This installation may not call that address.',
  unexpected_answer: 'The answer is not one of this provider: is the address right?',
};

/** Whether a provider takes a credential. */
export default function CredentialExtra({ record, onChanged }: ExtraProps) {
  const { can } = useProject();
  const verify = useMutation({
    mutationFn: () =>
      take(
        api.POST('/v1/provider-credentials/{credential_id}/verify', {
          params: { path: { credential_id: String(record['id']) } },
        }),
      ),
    onSettled: onChanged,
  });
  if (!can('administer')) return null;
  const { data } = verify;
  return (
    <>
      <Group>
        <Button variant="default" size="xs" loading={verify.isPending} onClick={() => verify.mutate()}>
          Try it
        </Button>
        {data?.ok === true && (
          <Text size="sm" role="status">
            The provider takes it.
          </Text>
        )}
      </Group>
      {data?.ok === false && (
        <Alert color="red" variant="light" role="alert">
          {WHY[data.error ?? ''] ?? data.error}
        </Alert>
      )}
      {verify.error && <ErrorMessage error={verify.error} />}
    </>
  );
}
