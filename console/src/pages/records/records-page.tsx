import { Anchor, Button, Card, ScrollArea, Skeleton, Table, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useLocation, useNavigate, useSearch } from '@tanstack/react-router';
import { Suspense, useState } from 'react';
import { ApiError } from '../../api/client.ts';
import { useDescription } from '../../api/description.ts';
import type { ListPage } from '../../api/list-pages.ts';
import { usePages } from '../../api/use-pages.ts';
import { NotFound } from '../../app/not-found.tsx';
import { useProject } from '../../app/project.ts';
import { recordKindOf } from '../../app/record-kinds.ts';
import type { RecordKind } from '../../app/record-kinds.ts';
import { Plus, Search } from '../../components/build-icons.ts';
import { Drawer } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { LoadMore } from '../../components/load-more.tsx';
import { Loading } from '../../components/loading.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { labelOf } from '../../components/schema-form/field.ts';
import type { Schemas } from '../../components/schema-form/field.ts';
import type { Json } from '../../components/schema-form/form-value.ts';
import { NEW_RECORDS } from './record-extras.tsx';
import { EditRecord, NewRecord, recordTitle, useRefresh } from './record-forms.tsx';
import { addressOf, bodyForm, operationsOf } from './record-operations.ts';
import type { RecordOperations } from './record-operations.ts';
import { mayDo, request } from './record-request.ts';
import { RecordValue } from './record-value.tsx';

type Listed = Json & { id: string };

/** States that end by themselves. */
const MOVING = ['provisioning', 'releasing', 'queued', 'processing'];
const WHILE_MOVING_MS = 3000;

/** A kind of record: its table, and each as a form. */
export default function RecordsPage() {
  const { pathname } = useLocation();
  const kind = recordKindOf(pathname);
  const description = useDescription();
  if (!kind) return <ErrorMessage error={new Error('There is no such page.')} />;
  if (description.error)
    return <ErrorMessage error={description.error} onRetry={() => void description.refetch()} />;
  if (!description.data) return <Skeleton h={320} radius="md" />;
  return (
    <Records
      key={kind.id}
      kind={kind}
      operations={operationsOf(description.data, kind)}
      schemas={description.data.components.schemas}
    />
  );
}

function Records({
  kind,
  operations,
  schemas,
}: {
  kind: RecordKind;
  operations: RecordOperations;
  schemas: Schemas;
}) {
  const project = useProject();
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed.trim(), 200);
  const [isNew, setNew] = useState(false);
  const { list, create, get } = operations;
  const known = { org_id: project.orgId, project_id: project.projectId };
  const asked = { ...known, ...(q !== '' && { q }) };
  const [isMoving, setMoving] = useState(false);
  const records = usePages({
    queryKey: ['records', kind.id, project.projectId, q],
    read: async ({ offset, limit }) =>
      (await request(
        'GET',
        addressOf(list!, { ...asked, limit: `${limit}`, offset: `${offset}` }),
      )) as ListPage<Listed>,
    everyMs: isMoving ? WHILE_MOVING_MS : false,
  });
  const { items } = records;
  const moves = items?.some(({ status }) => MOVING.includes(String(status))) ?? false;
  if (moves !== isMoving) setMoving(moves);
  // The address names the record that is open.
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const { record: openId } = useSearch({ strict: false }) as { record?: string };
  const setOpen = (record: string | undefined) =>
    void navigate({ to: pathname, search: (record === undefined ? {} : { record }) as never });
  const listed = items?.find(({ id }) => id === openId);
  const linked = useQuery({
    queryKey: ['record', kind.id, openId],
    queryFn: async () => (await request('GET', addressOf(get!, known, openId))) as Json,
    enabled: openId !== undefined && listed === undefined && get !== undefined,
  });
  const open = openId === undefined ? undefined : (listed ?? linked.data);
  const close = () => (isNew ? setNew(false) : setOpen(undefined));
  const createForm = bodyForm(create, schemas);
  const refresh = useRefresh(kind);
  const Own = NEW_RECORDS[kind.id];
  const add = (Own ?? createForm) && mayDo(create, project.role) && (
    <Button leftSection={<Plus size={16} />} onClick={() => setNew(true)}>
      New
    </Button>
  );
  const canSearch = list?.about.parameters?.some(({ name }) => name === 'q') ?? false;
  return (
    <>
      <PageHeader
        title={kind.title}
        text={kind.text}
        actions={add}
        request={{ method: 'GET', path: addressOf(list!, asked) }}
      />
      {canSearch && (
        <TextInput
          mb="md"
          maw={360}
          leftSection={<Search size={16} />}
          placeholder="Search by name"
          aria-label={`Search ${kind.title}`}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
      )}
      {records.error ? (
        <ErrorMessage error={records.error} onRetry={records.retry} />
      ) : items?.length === 0 ? (
        q !== '' ? (
          <EmptyState icon={Search} title="Nothing found" text="No record has such a name." />
        ) : (
          <EmptyState icon={kind.icon} title="Nothing here yet" text={kind.text} action={add} />
        )
      ) : (
        <Card withBorder radius="md" p={0}>
          <ScrollArea>
            <Table miw={560} highlightOnHover verticalSpacing="sm">
              <Table.Thead>
                <Table.Tr>
                  {kind.columns.map((column) => (
                    <Table.Th key={column}>{labelOf(column.replace(/_at$/, ''))}</Table.Th>
                  ))}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {items?.map((record) => (
                  <Table.Tr key={String(record['id'])}>
                    {kind.columns.map((column, index) => (
                      <Table.Td key={column} miw={index === 0 ? 150 : 90} maw={360}>
                        {index === 0 ? (
                          <Anchor
                            component="button"
                            c="inherit"
                            fw={600}
                            size="sm"
                            ta="left"
                            onClick={() => setOpen(record.id)}
                          >
                            <RecordValue name={column} value={record[column]} />
                          </Anchor>
                        ) : (
                          <RecordValue name={column} value={record[column]} />
                        )}
                      </Table.Td>
                    ))}
                  </Table.Tr>
                )) ?? (
                  <Table.Tr>
                    <Table.Td colSpan={kind.columns.length}>
                      <Skeleton h={24} />
                    </Table.Td>
                  </Table.Tr>
                )}
              </Table.Tbody>
            </Table>
          </ScrollArea>
          <LoadMore shown={items?.length ?? 0} {...records} />
        </Card>
      )}
      <Drawer
        opened={isNew || openId !== undefined}
        onClose={close}
        position="right"
        size="xl"
        title={isNew ? `New: ${kind.title}` : recordTitle(kind, open ?? null)}
      >
        {isNew && Own ? (
          <Suspense fallback={<Loading />}>
            <Own onChanged={() => void refresh()} onDone={close} />
          </Suspense>
        ) : isNew && create && createForm ? (
          <NewRecord kind={kind} operation={create} form={createForm} schemas={schemas} onDone={close} />
        ) : open ? (
          <EditRecord
            key={openId}
            kind={kind}
            listed={open}
            operations={operations}
            createForm={createForm}
            schemas={schemas}
            onDone={close}
          />
        ) : linked.error instanceof ApiError && linked.error.status === 404 ? (
          <NotFound what="record" />
        ) : linked.error ? (
          <ErrorMessage error={linked.error} onRetry={() => void linked.refetch()} />
        ) : openId !== undefined ? (
          <Loading />
        ) : null}
      </Drawer>
    </>
  );
}
