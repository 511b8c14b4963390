import { Alert, Button, Card, ScrollArea, SimpleGrid, Stack, Table, Text, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { api, take, takeFile } from '../../api/client.ts';
import type { components } from '../../api/schema.d.ts';
import { usePages } from '../../api/use-pages.ts';
import { useOrg } from '../../app/project.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { formatMoney } from '../../components/format.ts';
import { Download } from '../../components/icons.ts';
import { LoadMore } from '../../components/load-more.tsx';
import { Loading } from '../../components/loading.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { QueryContent } from '../../components/query-content.tsx';
import { saveFile } from '../../components/save-file.ts';
import { StatusBadge } from '../../components/status-badge.tsx';
import { failureText } from '../../components/tell-failure.ts';
import { Time } from '../../components/time.tsx';

type Wallet = components['schemas']['Wallet'];
type Invoice = components['schemas']['Invoice'];

/** What the org has paid in, and what it is billed. */
export default function BillingPage() {
  const { orgId, orgName } = useOrg();
  const wallet = useQuery({
    queryKey: ['wallet', orgId],
    queryFn: () => take(api.GET('/v1/orgs/{org_id}/billing/wallet', { params: { path: { org_id: orgId } } })),
  });
  return (
    <>
      <PageHeader
        title="Billing"
        text={`The wallet and the invoices of ${orgName}.`}
        request={{ method: 'GET', path: `/v1/orgs/${orgId}/billing/invoices` }}
      />
      <QueryContent query={wallet}>
        {(found) => (
          <Stack gap="xl">
            <WalletCard wallet={found} />
            <Invoices orgId={orgId} />
          </Stack>
        )}
      </QueryContent>
    </>
  );
}

function WalletCard({ wallet }: { wallet: Wallet }) {
  const { currency, mode, status } = wallet;
  const figures: [string, string | null][] = [
    ['Available', wallet.available_amount],
    ['Balance', wallet.balance_amount],
    ['Set aside for calls', wallet.reserved_amount],
    ['Low from', wallet.low_balance_amount],
  ];
  return (
    <section aria-labelledby="wallet">
      <Title order={2} size="h4" id="wallet" mb="sm">
        Wallet
      </Title>
      <Stack gap="sm">
        {status !== 'ok' && (
          <Alert
            color={status === 'empty' ? 'red' : 'yellow'}
            variant="light"
            title={status === 'empty' ? 'The wallet is empty' : 'The wallet is low'}
          >
            {status === 'empty'
              ? 'New calls are refused until something is paid in. Calls under way go on.'
              : 'Once it is empty, new calls are refused.'}
          </Alert>
        )}
        <Card withBorder padding="md" bg="var(--parley-surface)">
          {mode === 'prepaid' ? (
            <SimpleGrid component="dl" cols={{ base: 2, sm: 4 }} m={0}>
              {figures.map(([label, amount]) => (
                <div key={label}>
                  <Text component="dt" size="sm" c="dimmed">
                    {label}
                  </Text>
                  <Text
                    component="dd"
                    m={0}
                    size="lg"
                    fw={600}
                    style={{ fontVariantNumeric: 'tabular-nums' }}
                  >
                    {amount === null ? 'Never' : formatMoney(amount, currency)}
                  </Text>
                </div>
              ))}
            </SimpleGrid>
          ) : (
            <Text size="sm">
              Calls are not taken off a balance: what they cost is on the invoices. Whoever runs the server
              can make the wallet prepaid.
            </Text>
          )}
        </Card>
        {mode === 'prepaid' && (
          <Text size="sm" c="dimmed">
            Calls are paid from the balance. Top-ups are booked by whoever runs the server.
          </Text>
        )}
      </Stack>
    </section>
  );
}

function Invoices({ orgId }: { orgId: string }) {
  const list = usePages({
    queryKey: ['invoices', orgId],
    read: (page) =>
      take(
        api.GET('/v1/orgs/{org_id}/billing/invoices', {
          params: { path: { org_id: orgId }, query: page },
        }),
      ),
  });
  const { items } = list;
  return (
    <section aria-labelledby="invoices">
      <Title order={2} size="h4" id="invoices" mb="sm">
        Invoices
      </Title>
      {list.error ? (
        <ErrorMessage error={list.error} onRetry={list.retry} />
      ) : !items ? (
        <Loading height="120px" />
      ) : items.length === 0 ? (
        <EmptyState
          title="No invoice yet"
          text="There is one for each month in which calls cost something, made once the month is over."
        />
      ) : (
        <Card withBorder radius="md" p={0}>
          <ScrollArea tabIndex={0} aria-label="Invoices" role="region">
            <Table miw={640} verticalSpacing="sm" style={{ fontVariantNumeric: 'tabular-nums' }}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Number</Table.Th>
                  <Table.Th>Month</Table.Th>
                  <Table.Th>Status</Table.Th>
                  <Table.Th ta="right">Total</Table.Th>
                  <Table.Th>Due</Table.Th>
                  <Table.Th w={110} aria-label="File" />
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {items.map((invoice) => (
                  <InvoiceRow key={invoice.id} invoice={invoice} />
                ))}
              </Table.Tbody>
            </Table>
          </ScrollArea>
          <LoadMore shown={items.length} {...list} />
        </Card>
      )}
    </section>
  );
}

function InvoiceRow({ invoice }: { invoice: Invoice }) {
  const { number, status, currency, total_amount, tax_amount } = invoice;
  const save = useMutation({
    mutationFn: async () =>
      saveFile(
        await takeFile(`/v1/orgs/${invoice.org_id}/billing/invoices/${invoice.id}/pdf`),
        `${number.replaceAll('/', '-')}.pdf`,
      ),
  });
  return (
    <Table.Tr>
      <Table.Td fw={600}>{number}</Table.Td>
      <Table.Td>{monthOf(invoice.period_start)}</Table.Td>
      <Table.Td>
        <StatusBadge status={status} />
      </Table.Td>
      <Table.Td ta="right">
        {formatMoney(total_amount, currency)}
        <Text size="xs" c="dimmed">
          {formatMoney(tax_amount, currency)} tax
        </Text>
      </Table.Td>
      <Table.Td>
        <Time value={invoice.due_at} form="date" />
      </Table.Td>
      <Table.Td>
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<Download size={14} />}
          aria-label={`${number} as PDF`}
          loading={save.isPending}
          onClick={() => save.mutate()}
        >
          PDF
        </Button>
        {save.error && (
          <Text size="xs" c="red" role="alert">
            {failureText(save.error)}
          </Text>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

function monthOf(day: string): string {
  const at = new Date(`${day}T00:00:00Z`);
  return new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(at);
}
