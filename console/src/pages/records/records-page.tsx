import {
  Anchor,
  Button,
  Card,
  Code,
  Drawer,
  Group,
  ScrollArea,
  Skeleton,
  Stack,
  Table,
  Text,
  TextInput,
} from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import { useState } from 'react';
import { toApiError } from '../../api/api-error.ts';
import { ApiError, authorizedFetch } from '../../api/client.ts';
import { useDescription } from '../../api/description.ts';
import { apiUrl } from '../../api/page-settings.ts';
import { useProject } from '../../app/project.ts';
import { roleAtLeast } from '../../app/roles.ts';
import type { Role } from '../../app/roles.ts';
import { Plus, Search } from '../../components/build-icons.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import type { Field, GroupField, Schemas } from '../../components/schema-form/field.ts';
import { labelOf } from '../../components/schema-form/field.ts';
import { placeErrors } from '../../components/schema-form/form-errors.ts';
import { emptyOf, isObject, patchBetween, setAt } from '../../components/schema-form/form-value.ts';
import type { Json } from '../../components/schema-form/form-value.ts';
import { referenceKindOf } from '../../components/schema-form/reference-kind.ts';
import { useChoices } from '../../components/schema-form/references.ts';
import { FormScope } from '../../components/schema-form/form-scope.tsx';
import { OtherErrors } from '../../components/schema-form/other-errors.tsx';
import { Control, GroupFields } from '../../components/schema-form/schema-form.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import { RecordExtras } from './record-extras.tsx';
import { recordKindOf } from '../../app/record-kinds.ts';
import type { RecordKind } from '../../app/record-kinds.ts';
import { addressOf, bodyForm, editForm, needsProject, operationsOf } from './record-operations.ts';
import type { RecordOperation, RecordOperations } from './record-operations.ts';

interface Page {
  items: Json[];
  total: number;
}

/** A request by the description. @throws ApiError */
async function request(method: string, address: string, body?: unknown): Promise<unknown> {
  const init =
    body === undefined
      ? { method }
      : { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await authorizedFetch(new Request(`${apiUrl}${address}`, init));
  const answer: unknown = response.status === 204 ? null : await response.json().catch(() => null);
  if (!response.ok) throw toApiError(response.status, answer, response.headers.get('x-request-id'));
  return answer;
}

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
  const [open, setOpen] = useState<Json | 'new' | null>(null);
  const { list, create } = operations;
  const known = { org_id: project.orgId, project_id: project.projectId };
  const records = useQuery({
    queryKey: ['records', kind.id, project.projectId, q],
    queryFn: async () =>
      (await request('GET', addressOf(list!, { ...known, limit: '200', ...(q !== '' && { q }) }))) as Page,
    enabled: list !== undefined,
    placeholderData: keepPreviousData,
  });
  const createForm = bodyForm(create, schemas);
  const add = createForm && mayDo(create, project.role) && (
    <Button leftSection={<Plus size={16} />} onClick={() => setOpen('new')}>
      New
    </Button>
  );
  const canSearch = list?.about.parameters?.some(({ name }) => name === 'q') ?? false;
  return (
    <>
      <PageHeader title={kind.title} text={kind.text} actions={add} />
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
        <ErrorMessage error={records.error} onRetry={() => void records.refetch()} />
      ) : records.data?.items.length === 0 ? (
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
                {records.data?.items.map((record) => (
                  <Table.Tr key={String(record['id'])}>
                    {kind.columns.map((column, index) => (
                      <Table.Td key={column} maw={360}>
                        {index === 0 ? (
                          <Anchor
                            component="button"
                            c="inherit"
                            fw={600}
                            size="sm"
                            ta="left"
                            onClick={() => setOpen(record)}
                          >
                            <Value name={column} value={record[column]} />
                          </Anchor>
                        ) : (
                          <Value name={column} value={record[column]} />
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
        </Card>
      )}
      <Drawer
        opened={open !== null}
        onClose={() => setOpen(null)}
        position="right"
        size="xl"
        title={open === 'new' ? `New: ${kind.title}` : titleOf(kind, open)}
      >
        {open === 'new' && create && createForm ? (
          <NewRecord
            kind={kind}
            operation={create}
            form={createForm}
            schemas={schemas}
            onDone={() => setOpen(null)}
          />
        ) : open !== null && open !== 'new' ? (
          <EditRecord
            key={String(open['id'])}
            kind={kind}
            listed={open}
            operations={operations}
            createForm={createForm}
            schemas={schemas}
            onDone={() => setOpen(null)}
          />
        ) : null}
      </Drawer>
    </>
  );
}

function titleOf(kind: RecordKind, record: Json | null): string {
  return record ? String(record[kind.columns[0]!] ?? kind.title) : '';
}

function mayDo(operation: RecordOperation | undefined, role: Role): boolean {
  const least = operation?.about['x-required-role']?.user;
  return (
    operation !== undefined && least !== undefined && (least === 'any' || roleAtLeast(role, least as Role))
  );
}

function Value({ name, value }: { name: string; value: unknown }) {
  const kind = referenceKindOf(name);
  const choices = useChoices(typeof value === 'string' ? kind : undefined);
  if (value === null || value === undefined || value === '') return <>–</>;
  if (name.endsWith('_at') && typeof value === 'string') return <Time value={value} />;
  if (name === 'status' && typeof value === 'string') return <StatusBadge status={value} />;
  if (typeof value === 'boolean') return <>{value ? 'Yes' : 'No'}</>;
  const text = Array.isArray(value)
    ? value.map(String).join(', ')
    : isObject(value)
      ? JSON.stringify(value)
      : kind && typeof value === 'string'
        ? (choices.find((one) => one.value === value)?.label ?? value)
        : String(value as string | number);
  return (
    <Text span inherit lineClamp={1} style={{ overflowWrap: 'anywhere' }}>
      {text}
    </Text>
  );
}

function useRefresh(kind: RecordKind) {
  const queries = useQueryClient();
  return () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: ['records', kind.id] }),
      queries.invalidateQueries({ queryKey: ['record', kind.id] }),
      queries.invalidateQueries({ queryKey: ['choices'] }),
    ]);
}

function NewRecord({
  kind,
  operation,
  form,
  schemas,
  onDone,
}: {
  kind: RecordKind;
  operation: RecordOperation;
  form: Field;
  schemas: Schemas;
  onDone: () => void;
}) {
  const { orgId, projectId } = useProject();
  const refresh = useRefresh(kind);
  const [value, setValue] = useState<unknown>(() => emptyOf(form));
  const save = useMutation({
    mutationFn: () => {
      const place = needsProject(operation, schemas) ? { project_id: projectId } : {};
      const address = addressOf(operation, { org_id: orgId, project_id: projectId });
      return request(operation.method, address, { ...place, ...(value as Json) });
    },
    async onSuccess() {
      await refresh();
      onDone();
    },
  });
  return (
    <RecordForm
      form={form}
      value={value}
      error={save.error}
      busy={save.isPending}
      submit="Create"
      onChange={setValue}
      onSubmit={() => save.mutate()}
      onCancel={onDone}
    />
  );
}

function EditRecord({
  kind,
  listed,
  operations,
  createForm,
  schemas,
  onDone,
}: {
  kind: RecordKind;
  listed: Json;
  operations: RecordOperations;
  createForm: Field | undefined;
  schemas: Schemas;
  onDone: () => void;
}) {
  const { orgId, projectId, role } = useProject();
  const refresh = useRefresh(kind);
  const id = String(listed['id']);
  const known = { org_id: orgId, project_id: projectId };
  const { get, update, remove } = operations;
  const record = useQuery({
    queryKey: ['record', kind.id, id],
    queryFn: async () => (await request('GET', addressOf(get!, known, id))) as Json,
    enabled: get !== undefined,
    initialData: listed,
    initialDataUpdatedAt: 0,
  });
  const form = editForm(createForm, update, schemas, record.data);
  const base = form && (pick(record.data, form) as unknown);
  const [changed, setChanged] = useState<unknown>(null);
  const value = changed ?? base;
  const save = useMutation({
    mutationFn: () => request('PATCH', addressOf(update!, known, id), patchBetween(base, value, form!) ?? {}),
    async onSuccess() {
      await refresh();
      setChanged(null);
    },
  });
  const mayEdit = mayDo(update, role);
  const shown = form?.fields.map(({ key }) => key) ?? [];
  const facts = Object.entries(record.data).filter(
    ([key, one]) => !shown.includes(key) && !PLACES.includes(key) && isPlain(one),
  );
  return (
    <Stack gap="lg">
      <RecordExtras kindId={kind.id} record={record.data} onChanged={() => void refresh()} />
      {form && (
        <RecordForm
          form={form}
          value={value}
          error={save.error}
          busy={save.isPending}
          readOnly={!mayEdit}
          submit="Save"
          isUnchanged={changed === null}
          onChange={setChanged}
          onSubmit={() => save.mutate()}
          onCancel={onDone}
        />
      )}
      <Card withBorder radius="md" p="md">
        <Stack gap={6}>
          {facts.map(([key, one]) => (
            <Group key={key} gap="md" wrap="nowrap" align="flex-start">
              <Text size="sm" c="dimmed" w={150}>
                {labelOf(key.replace(/_at$/, ''))}
              </Text>
              <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
                {key === 'id' ? <Code>{String(one)}</Code> : <Value name={key} value={one} />}
              </Text>
            </Group>
          ))}
        </Stack>
      </Card>
      {mayDo(remove, role) && (
        <Group>
          <ConfirmButton
            color="red"
            title={`Delete ${titleOf(kind, record.data)}`}
            text="This cannot be undone."
            confirm="Delete"
            onConfirm={async () => {
              await request('DELETE', addressOf(remove!, known, id));
              await refresh();
              onDone();
            }}
          >
            Delete
          </ConfirmButton>
        </Group>
      )}
    </Stack>
  );
}

/** The page is about them anyway. */
const PLACES = ['org_id', 'project_id'];

function pick(record: Json, form: GroupField): Json {
  return Object.fromEntries(form.fields.flatMap(({ key }) => (key in record ? [[key, record[key]]] : [])));
}

/** Told in a line. */
function isPlain(value: unknown): boolean {
  return (
    value !== null && value !== '' && !isObject(value) && !(Array.isArray(value) && value.some(isObject))
  );
}

function RecordForm({
  form,
  value,
  error,
  busy,
  readOnly = false,
  submit,
  isUnchanged = false,
  onChange,
  onSubmit,
  onCancel,
}: {
  form: Field;
  value: unknown;
  error: Error | null;
  busy: boolean;
  readOnly?: boolean;
  submit: string;
  isUnchanged?: boolean;
  onChange: (value: unknown) => void;
  onSubmit: () => void;
  onCancel: () => void;
}) {
  const faults = error instanceof ApiError ? error.fields : [];
  const found = faults.map(({ path, message }) => ({ loc: ['body', ...path], msg: message }));
  const errors = placeErrors(found, form, value);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <Stack>
        <OtherErrors errors={errors.elsewhere} />
        {error && faults.length === 0 && <ErrorMessage error={error} />}
        <FormScope
          value={value}
          errors={errors.placed}
          readOnly={readOnly}
          narrow
          change={(path, next) => onChange(setAt(value, path, next))}
        >
          {form.kind === 'group' ? (
            <GroupFields group={form} />
          ) : (
            <Control field={form} path={[]} id="record" error={undefined} />
          )}
        </FormScope>
        {!readOnly && (
          <Group justify="flex-end">
            <Button variant="default" onClick={onCancel}>
              Cancel
            </Button>
            <Button type="submit" loading={busy} disabled={isUnchanged}>
              {submit}
            </Button>
          </Group>
        )}
      </Stack>
    </form>
  );
}
