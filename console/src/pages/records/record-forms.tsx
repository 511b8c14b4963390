import { Button, Card, Code, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from '../../api/client.ts';
import { useProject } from '../../app/project.ts';
import type { RecordKind } from '../../app/record-kinds.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { labelOf } from '../../components/schema-form/field.ts';
import type { Field, GroupField, Schemas } from '../../components/schema-form/field.ts';
import { placeErrors } from '../../components/schema-form/form-errors.ts';
import { FormScope } from '../../components/schema-form/form-scope.tsx';
import { emptyOf, isObject, patchBetween, setAt } from '../../components/schema-form/form-value.ts';
import type { Json } from '../../components/schema-form/form-value.ts';
import { OtherErrors } from '../../components/schema-form/other-errors.tsx';
import { Control, GroupFields } from '../../components/schema-form/schema-form.tsx';
import { RecordExtras } from './record-extras.tsx';
import { addressOf, bodyOf, editForm, needsProject } from './record-operations.ts';
import type { RecordOperation, RecordOperations } from './record-operations.ts';
import { mayDo, request } from './record-request.ts';
import { RecordValue } from './record-value.tsx';

/** What a record is called. */
export function recordTitle(kind: RecordKind, record: Json | null): string {
  return record ? String(record[kind.columns[0]!] ?? kind.title) : '';
}

export function useRefresh(kind: RecordKind) {
  const queries = useQueryClient();
  return () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: ['records', kind.id] }),
      queries.invalidateQueries({ queryKey: ['record', kind.id] }),
      queries.invalidateQueries({ queryKey: ['choices'] }),
    ]);
}

/** The form that makes a record. */
export function NewRecord({
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

/** A record: what it has besides, its form, its facts, and the way to be rid of it. */
export function EditRecord({
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
  const { data } = useQuery({
    queryKey: ['record', kind.id, id],
    queryFn: async () => (await request('GET', addressOf(get!, known, id))) as Json,
    enabled: get !== undefined,
    initialData: listed,
    initialDataUpdatedAt: 0,
  });
  // Those that cannot be read one by one are as the list has them.
  const record = get === undefined ? listed : data;
  const form = editForm(createForm, update, schemas, record);
  const base = form && (pick(record, form) as unknown);
  const [changed, setChanged] = useState<unknown>(null);
  const value = changed ?? base;
  const save = useMutation({
    mutationFn: () => {
      const patch = (patchBetween(base, value, form!) ?? {}) as Json;
      return request('PATCH', addressOf(update!, known, id), bodyOf(update!, patch));
    },
    async onSuccess() {
      await refresh();
      setChanged(null);
    },
  });
  // What belongs to the installation or to another org is changed by nobody here; what the org came with neither.
  const { org_id: owner = orgId } = record;
  const isOwn = owner === orgId && record['built_in'] !== true;
  const mayEdit = isOwn && mayDo(update, role);
  const shown = form?.fields.map(({ key }) => key) ?? [];
  const facts = Object.entries(record).filter(
    ([key, one]) => !shown.includes(key) && !PLACES.includes(key) && isPlain(one),
  );
  return (
    <Stack gap="lg">
      <RecordExtras kindId={kind.id} record={record} onChanged={() => void refresh()} />
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
                {key === 'id' ? <Code>{String(one)}</Code> : <RecordValue name={key} value={one} />}
              </Text>
            </Group>
          ))}
        </Stack>
      </Card>
      {isOwn && mayDo(remove, role) && (
        <Group>
          <ConfirmButton
            color="red"
            title={`Delete ${recordTitle(kind, record)}`}
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

/** The fields of a record that a form has. */
export function pick(record: Json, form: GroupField): Json {
  return Object.fromEntries(
    form.fields.flatMap(({ key }) => (key in record ? [[key, withoutMark(record[key])]] : [])),
  );
}

/** Secrets are read back as a mark that they are there: a form has none of them until somebody writes them anew. */
function withoutMark(value: unknown): unknown {
  return isObject(value) && Object.keys(value).join() === 'set' ? {} : value;
}

/** Told in a line. */
function isPlain(value: unknown): boolean {
  return (
    value !== null &&
    value !== '' &&
    !isObject(value) &&
    !(Array.isArray(value) && (value.length === 0 || value.some(isObject)))
  );
}

/** A form of the description, with what the server said against it at its fields. */
export function RecordForm({
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
