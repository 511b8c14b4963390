import {
  Alert,
  Anchor,
  Button,
  Card,
  Group,
  ScrollArea,
  SegmentedControl,
  Select,
  SimpleGrid,
  Stack,
  Table,
  Text,
  TextInput,
} from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { readAll } from '../../api/list-pages.ts';
import { idempotencyKey } from '../../api/idempotency-key.ts';
import type { components } from '../../api/schema.d.ts';
import { useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { formatMoney, inWords } from '../../components/format.ts';
import { QueryContent } from '../../components/query-content.tsx';
import type { NewRecordProps } from './record-extras.tsx';

type Offer = components['schemas']['AvailablePhoneNumber'];
type Account = components['schemas']['TelephonyAccount'];

const KINDS = ['local', 'mobile', 'national', 'toll_free'] as const;

/** Adds a number: bought from a carrier, with its price before the click, or one that the account has already. */
export default function NewNumber({ onChanged, onDone }: NewRecordProps) {
  const { orgId, projectId } = useProject();
  const [mode, setMode] = useState<'buy' | 'import'>('buy');
  const [chosen, setChosen] = useState<string | null>(null);
  const accounts = useQuery({
    queryKey: ['telephony-accounts', orgId],
    queryFn: () =>
      readAll((page) =>
        take(
          api.GET('/v1/orgs/{org_id}/telephony-accounts', {
            params: { path: { org_id: orgId }, query: page },
          }),
        ),
      ),
  });
  return (
    <QueryContent query={accounts}>
      {(all) => {
        const usable = all.filter(({ status }) => status === 'active');
        const account = usable.find(({ id }) => id === (chosen ?? usable[0]?.id));
        if (!account)
          return (
            <Alert color="yellow" title="No account at a carrier is ready">
              Numbers belong to one:{' '}
              <Anchor
                component={Link}
                to={`/projects/${projectId}/telephony-accounts`}
                size="sm"
                underline="always"
              >
                add it
              </Anchor>{' '}
              first.
            </Alert>
          );
        const added = () => {
          onChanged();
          onDone();
        };
        return (
          <Stack>
            <SegmentedControl
              fullWidth
              aria-label="How the number is added"
              value={mode}
              onChange={(next) => setMode(next as 'buy' | 'import')}
              data={[
                { value: 'buy', label: 'Buy a number' },
                { value: 'import', label: 'The account has it' },
              ]}
            />
            <Select
              label="Account"
              searchable
              limit={100}
              allowDeselect={false}
              data={usable.map(({ id, name, provider }) => ({
                value: id,
                label: `${name} (${inWords(provider)})`,
              }))}
              value={account.id}
              onChange={setChosen}
            />
            {mode === 'buy' ? (
              <Buy key={account.id} account={account} onDone={added} />
            ) : (
              <Import key={account.id} account={account} onDone={added} />
            )}
          </Stack>
        );
      }}
    </QueryContent>
  );
}

function useAdd(account: Account, mode: 'buy' | 'import', onDone: () => void) {
  const { orgId, projectId } = useProject();
  return useMutation({
    mutationFn: ({ number, key }: { number: string; key: string }) =>
      take(
        api.POST('/v1/orgs/{org_id}/projects/{project_id}/phone-numbers', {
          params: {
            path: { org_id: orgId, project_id: projectId },
            header: { 'Idempotency-Key': key },
          },
          body: { telephony_account_id: account.id, phone_number: number, mode },
        }),
      ),
    onSuccess: onDone,
  });
}

function Import({ account, onDone }: { account: Account; onDone: () => void }) {
  const [number, setNumber] = useState('');
  const [key, setKey] = useState(idempotencyKey);
  const add = useAdd(account, 'import', onDone);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate({ number: number.replace(/[\s().-]/g, ''), key });
      }}
    >
      <Stack>
        <TextInput
          label="Number"
          description="With its country code. Its webhooks are pointed here."
          placeholder="+14155550100"
          value={number}
          onChange={(event) => {
            setNumber(event.currentTarget.value);
            // Another number is another request.
            setKey(idempotencyKey());
          }}
        />
        {add.error && <ErrorMessage error={add.error} />}
        <Group justify="flex-end">
          <Button type="submit" disabled={number.trim() === ''} loading={add.isPending}>
            Import
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface Wanted {
  country: string;
  type: string | null;
  contains: string;
}

function Buy({ account, onDone }: { account: Account; onDone: () => void }) {
  const { orgId } = useProject();
  const [wanted, setWanted] = useState<Wanted>({
    country: account.allowed_countries?.[0] ?? 'US',
    type: null,
    contains: '',
  });
  const [asked, setAsked] = useState<Wanted | null>(null);
  const [choice, setChoice] = useState<{ offer: Offer; key: string } | null>(null);
  const change = (part: Partial<Wanted>) => setWanted({ ...wanted, ...part });
  const digits = wanted.contains.replace(/[^\d+]/g, '');
  const buy = useAdd(account, 'buy', onDone);
  const offers = useQuery({
    queryKey: ['numbers-for-sale', account.id, asked],
    enabled: asked !== null,
    staleTime: 0,
    gcTime: 0,
    retry: false,
    queryFn: ({ signal }) =>
      take(
        api.GET('/v1/orgs/{org_id}/phone-numbers/available', {
          params: {
            path: { org_id: orgId },
            query: {
              telephony_account_id: account.id,
              country: asked!.country,
              ...(asked!.type !== null && { type: asked!.type as (typeof KINDS)[number] }),
              ...(asked!.contains !== '' && { contains: asked!.contains }),
            },
          },
          signal,
        }),
      ),
  });
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setChoice(null);
          if (asked !== null) void offers.refetch();
          setAsked({ ...wanted, contains: digits });
        }}
      >
        <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="sm">
          <TextInput
            label="Country"
            placeholder="US"
            maxLength={2}
            value={wanted.country}
            onChange={(event) => change({ country: event.currentTarget.value.toUpperCase() })}
          />
          <Select
            label="Kind"
            placeholder="Any"
            clearable
            data={KINDS.map((value) => ({ value, label: inWords(value) }))}
            value={wanted.type}
            onChange={(type) => change({ type })}
          />
          <TextInput
            label="With the digits"
            placeholder="415"
            inputMode="tel"
            maxLength={16}
            value={wanted.contains}
            onChange={(event) => change({ contains: event.currentTarget.value })}
          />
        </SimpleGrid>
        <Group justify="flex-end" mt="sm">
          <Button
            type="submit"
            variant="default"
            loading={offers.isFetching}
            disabled={!/^[A-Z]{2}$/.test(wanted.country) || digits.length === 1}
          >
            See what is for sale
          </Button>
        </Group>
      </form>
      {offers.error && <ErrorMessage error={offers.error} />}
      {offers.data?.items.length === 0 && (
        <Text size="sm" c="dimmed" role="status">
          The carrier sells no such number now.
        </Text>
      )}
      {choice === null && offers.data !== undefined && offers.data.items.length > 0 && (
        <Offers
          offers={offers.data.items}
          onChoose={(offer) => setChoice({ offer, key: idempotencyKey() })}
        />
      )}
      {choice && (
        <Card withBorder radius="md" p="md" component="section" aria-label="What it costs">
          <Text fw={600}>{choice.offer.phone_number}</Text>
          <Text size="sm">{costOf(choice.offer)}</Text>
          {choice.offer.requires_documents === true && (
            <Text size="sm">The carrier asks for documents before it is ready.</Text>
          )}
          {buy.error && <ErrorMessage error={buy.error} />}
          <Group justify="flex-end" mt="sm">
            <Button variant="default" onClick={() => setChoice(null)}>
              Choose another
            </Button>
            <Button
              loading={buy.isPending}
              onClick={() => buy.mutate({ number: choice.offer.phone_number, key: choice.key })}
            >
              {buttonOf(choice.offer)}
            </Button>
          </Group>
        </Card>
      )}
    </>
  );
}

function Offers({ offers, onChoose }: { offers: readonly Offer[]; onChoose: (offer: Offer) => void }) {
  return (
    <Card withBorder radius="md" p={0}>
      <ScrollArea tabIndex={0} aria-label="Numbers for sale" role="region">
        <Table miw={500} verticalSpacing="xs">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Number</Table.Th>
              <Table.Th>Place</Table.Th>
              <Table.Th ta="right">Once</Table.Th>
              <Table.Th ta="right">A month</Table.Th>
              <Table.Th aria-label="Choose" />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {offers.map((offer) => (
              <Table.Tr key={offer.phone_number}>
                <Table.Td>{offer.phone_number}</Table.Td>
                <Table.Td>{offer.region ?? offer.country}</Table.Td>
                <Table.Td ta="right">{money(offer.setup_amount, offer.currency) ?? 'Not told'}</Table.Td>
                <Table.Td ta="right">{money(offer.monthly_amount, offer.currency) ?? 'Not told'}</Table.Td>
                <Table.Td ta="right">
                  <Button
                    size="compact-xs"
                    variant="default"
                    aria-label={`Choose ${offer.phone_number}`}
                    onClick={() => onChoose(offer)}
                  >
                    Choose
                  </Button>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </ScrollArea>
    </Card>
  );
}

function money(amount: string | null, currency: string | null): string | null {
  return amount === null || currency === null ? null : formatMoney(amount, currency);
}

/** What buying costs, in a sentence. */
function costOf({ setup_amount, monthly_amount, currency }: Offer): string {
  const [once, monthly] = [money(setup_amount, currency), money(monthly_amount, currency)];
  if (once === null && monthly === null)
    return 'The carrier tells no price: see its price list before you buy.';
  const parts = [
    ...(once === null ? ['what it costs once is not told'] : [`${once} once`]),
    ...(monthly === null
      ? ['what it costs a month is not told']
      : [`${monthly} each month until it is given back`]),
  ];
  return `The carrier asks for ${parts.join(', and ')}. It charges your account there.`;
}

function buttonOf({ setup_amount, monthly_amount, currency }: Offer): string {
  const monthly = money(monthly_amount, currency);
  const once = money(setup_amount, currency);
  if (monthly === null) return once === null ? 'Buy it' : `Buy it for ${once}`;
  return `Buy it for ${once === null || Number(setup_amount) === 0 ? '' : `${once} and `}${monthly} a month`;
}
