import { Alert, ScrollArea, Stack, Table, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { DropFiles } from '../../components/drop-files.tsx';
import { previewCsv } from './csv-preview.ts';
import type { CsvPreview } from './csv-preview.ts';

export interface ChosenCsv {
  file: File;
  preview: CsvPreview;
  /** Of numbers without a country code; empty: none. */
  country: string;
}

/** Enough for the first rows, however long they are. */
const PREVIEW_BYTES = 256 * 1024;
const MAX_BYTES = 20 * 1024 * 1024;

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
    const bytes = new Uint8Array(await file.slice(0, PREVIEW_BYTES).arrayBuffer());
    const encoding = bytes[0] === 0xff ? 'utf-16le' : bytes[0] === 0xfe ? 'utf-16be' : 'utf-8';
    const preview = previewCsv(new TextDecoder(encoding).decode(bytes));
    onChange({ file, preview, country: chosen?.country ?? '' });
  }
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
          {chosen.preview.problem !== null && (
            <Alert color="red" variant="light" role="alert" title="This file cannot be imported">
              {chosen.preview.problem}
            </Alert>
          )}
          <Preview preview={chosen.preview} />
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

function Preview({ preview: { header, columns, rows } }: { preview: CsvPreview }) {
  return (
    <ScrollArea type="auto" tabIndex={0} aria-label="The first rows of the file" role="region">
      <Table withTableBorder withColumnBorders fz="xs" miw={120 * header.length}>
        <Table.Thead>
          <Table.Tr>
            {header.map((name, at) => (
              <Table.Th key={at}>
                {name}
                <Text size="xs" c="dimmed" fw={400}>
                  {columns[at]}
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
