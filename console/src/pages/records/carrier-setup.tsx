import { ActionIcon, Alert, Button, Card, Code, CopyButton, Group, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api, take } from '../../api/client.ts';
import type { components } from '../../api/schema.d.ts';
import { useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { Check, CircleAlert, Copy } from '../../components/icons.ts';
import { Time } from '../../components/time.tsx';

export type Account = components['schemas']['TelephonyAccount'];

type Place = keyof Account['callback_urls'];

/** Where a carrier's console asks for each address. */
const PLACES: Readonly<Record<string, Partial<Record<Place, string>>>> = {
  twilio: {
    voice: 'Voice configuration of the number, “A call comes in”: Webhook, HTTP POST',
    status: 'Voice configuration of the number, “Call status changes”: HTTP POST',
  },
  plivo: {
    voice: 'Voice application of the number, “Answer URL”: POST',
    status: 'The same application, “Hangup URL”: POST',
    ucc: 'Where Plivo asks for the callback of complaints (UCC)',
  },
  telnyx: {
    voice:
      'Call Control application of the number, “Webhook URL”, API v2: it tells of the state of calls, too',
  },
};

/** What to paste where at a carrier, and whether it has been seen to work. */
export function CarrierSetup({ account }: { account: Account }) {
  const { can } = useProject();
  const queries = useQueryClient();
  const verify = useMutation({
    mutationFn: () =>
      take(
        api.POST('/v1/telephony-accounts/{telephony_account_id}/verify', {
          params: { path: { telephony_account_id: account.id } },
        }),
      ),
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['records', 'telephony-accounts'] }),
        queries.invalidateQueries({ queryKey: ['record', 'telephony-accounts'] }),
        queries.invalidateQueries({ queryKey: ['telephony-account', account.id] }),
      ]),
  });
  const { last_callback_at: seenAt, callback_urls: urls } = account;
  const places = Object.entries(
    PLACES[account.provider] ?? { voice: 'Incoming calls', status: 'States of calls' },
  );
  return (
    <Card withBorder radius="md" p="md" component="section" aria-label="At the carrier">
      <Stack gap="sm">
        <Title order={3} size="h5">
          At the carrier
        </Title>
        <Text size="sm" c="dimmed">
          Numbers that are bought or imported here are set up by themselves. For others, paste these
          addresses:
        </Text>
        {places.map(([place, where]) => {
          const url = urls[place as Place];
          return url === null ? null : <Address key={place} where={where} url={url} />;
        })}
        <Alert
          color={seenAt === null ? 'yellow' : 'green'}
          variant="light"
          icon={seenAt === null ? <CircleAlert size={18} /> : <Check size={18} />}
          title={seenAt === null ? 'Not seen to work yet' : 'It works'}
        >
          {seenAt === null ? (
            'No request of the carrier with a right signature has come yet. Call one of the numbers to try it.'
          ) : (
            <>
              The carrier’s last request with a right signature came at <Time value={seenAt} form="long" />.
            </>
          )}
        </Alert>
        {verify.error && <ErrorMessage error={verify.error} />}
        {verify.data?.ok === true && (
          <Text size="sm" role="status">
            The carrier takes the credentials, and nothing is wrong with its settings.
          </Text>
        )}
        {verify.data?.problems.map(({ code, message }) => (
          <Alert key={code + message} color="red" variant="light" role="alert">
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {message}
            </Text>
          </Alert>
        ))}
        {can('administer') && (
          <Group>
            <Button variant="default" size="xs" loading={verify.isPending} onClick={() => verify.mutate()}>
              Check at the carrier
            </Button>
          </Group>
        )}
      </Stack>
    </Card>
  );
}

function Address({ where, url }: { where: string; url: string }) {
  return (
    <div>
      <Text size="sm" fw={500}>
        {where}
      </Text>
      <Group gap={6} wrap="nowrap">
        <Code style={{ overflowWrap: 'anywhere', whiteSpace: 'normal', minWidth: 0 }}>{url}</Code>
        <CopyButton value={url}>
          {({ copied, copy }) => (
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={copied ? 'Copied' : `Copy the address: ${where}`}
              onClick={copy}
            >
              {copied ? <Check size={14} /> : <Copy size={14} />}
            </ActionIcon>
          )}
        </CopyButton>
      </Group>
    </div>
  );
}
