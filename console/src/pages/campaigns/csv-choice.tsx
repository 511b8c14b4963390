import { Alert, ScrollArea, Select, Stack, Table, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { DropFiles } from '../../components/drop-files.tsx';
import {
  COLUMN_USES,
  columnNames,
  encodingOf,
  previewCsv,
  problemOfColumns,
  renamed,
} from './csv-preview.ts';
import type { ColumnUse, CsvPreview } from './csv-preview.ts';

export interface ChosenCsv {
  file: File;
  /** Its first bytes, with the header. */
  beginning: Uint8Array;
  preview: CsvPreview;
  /** What each column becomes: at first what the server takes it for by its name. */
  uses: readonly ColumnUse[];
  /** Of numbers without a country code; empty: none. */
  country: string;
}

/** Enough for the first rows, however long they are. */
const PREVIEW_BYTES = 256 * 1024;
const MAX_BYTES = 20 * 1024 * 1024;

/** Why a file cannot be imported as it was chosen; null: nothing that shows here. */
export function problemOfCsv({ preview, uses, country }: ChosenCsv): string | null {
  if (!/^([A-Z]{2})?$/.test(country)) return 'A country is two letters, such as IN.';
  return problemOfColumns(preview.header, uses);
}

/** The file as it is sent: with the names of columns that make the server take each for what was chosen. */
export function fileOf({ file, beginning, preview, uses }: ChosenCsv): File {
  if (uses.join() === preview.uses.join()) return file;
  return new File([renamed(file, beginning, preview.header, uses)], file.name, { type: 'text/csv' });
}

/** A CSV file of people by dropping or choosing, with its first rows and what becomes of its columns. */
export function CsvChoice({
  chosen,
  onChange,
}: {
  chosen: ChosenCsv | null;
  onChange: (chosen: ChosenCsv | null) => void;
}) {
  const [error, setError] = useState<string | null>(null);
  async function take(file: File) {
    setError(null);
    if (file.size > MAX_BYTES) return setError('The file is larger than 20 MiB: split it.');
    const beginning = new Uint8Array(await file.slice(0, PREVIEW_BYTES).arrayBuffer());
    const preview = previewCsv(new TextDecoder(encodingOf(beginning)).decode(beginning));
    onChange({ file, beginning, preview, uses: preview.uses, country: chosen?.country ?? '' });
  }
  const problem = chosen && problemOfColumns(chosen.preview.header, chosen.uses);
  return (
    <Stack gap="sm">
      <DropFiles
        text={chosen ? chosen.file.name : 'Drop a CSV file here: one row for each person, with a header'}
        choose={chosen ? 'Choose another file' : 'Choose a file'}
        accept=".csv,text/csv,text/plain"
        onFiles={([file]) => void take(file!)}
      />
      {error !== null && (
        <Alert color="red" variant="light" role="alert">
          {error}
        </Alert>
      )}
      {chosen && (
        <>
          {problem !== null && (
            <Alert color="red" variant="light" role="alert" title="This file cannot be imported yet">
              {problem}
            </Alert>
          )}
          {chosen.preview.header.length > 0 && (
            <Preview
              preview={chosen.preview}
              uses={chosen.uses}
              onChange={(uses) => onChange({ ...chosen, uses })}
            />
          )}
          <TextInput
            label="Country of numbers without a country code"
            description="Two letters, such as IN. Without it such numbers are left out."
            maw={360}
            maxLength={2}
            value={chosen.country}
            onChange={(event) => onChange({ ...chosen, country: event.currentTarget.value.toUpperCase() })}
          />
        </>
      )}
    </Stack>
  );
}

/** The first rows, and above each column what it becomes. */
function Preview({
  preview: { header, rows },
  uses,
  onChange,
}: {
  preview: CsvPreview;
  uses: readonly ColumnUse[];
  onChange: (uses: readonly ColumnUse[]) => void;
}) {
  const names = columnNames(header, uses);
  return (
    <ScrollArea type="auto" tabIndex={0} aria-label="The first rows of the file" role="region">
      <Table withTableBorder withColumnBorders fz="xs" miw={150 * header.length} layout="fixed">
        <Table.Thead>
          <Table.Tr>
            {header.map((name, at) => (
              <Table.Th key={at} style={{ verticalAlign: 'top' }}>
                <Text size="xs" fw={600} truncate>
                  {name.trim() === '' ? `Column ${at + 1}` : name}
                </Text>
                <Select
                  size="xs"
                  my={4}
                  aria-label={`What ${name.trim() === '' ? `column ${at + 1}` : name} is`}
                  allowDeselect={false}
                  data={COLUMN_USES as never}
                  value={uses[at]!}
                  onChange={(use) => onChange(uses.with(at, use as ColumnUse))}
                />
                <Text size="xs" c="dimmed" fw={400} truncate>
                  {uses[at] === 'variable' ? `variable ${names[at]}` : ' '}
                </Text>
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, index) => (
            <Table.Tr key={index}>
              {header.map((_, at) => (
                <Table.Td key={at} maw={220}>
                  <Text size="xs" truncate>
                    {row[at]}
                  </Text>
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea>
  );
}
