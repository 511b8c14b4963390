import type { ReactNode } from 'react';
import { ConfirmButton } from './confirm-button.tsx';
import type { DataColumn } from './data-table.tsx';
import { StatusBadge } from './status-badge.tsx';
import { Time } from './time.tsx';

// Columns that tables of several pages have.

/** As wide as the longest state that records have. */
export const STATUS_WIDTH = '150px';

export function statusColumn<Row extends { status: string }>(): DataColumn<Row> {
  return {
    id: 'status',
    title: 'Status',
    cell: ({ status }) => <StatusBadge status={status} />,
    width: STATUS_WIDTH,
  };
}

/** @param fallback what stands where there is no time */
export function timeColumn<Row>(
  title: string,
  timeOf: (row: Row) => string | null,
  fallback?: string,
): DataColumn<Row> {
  return {
    id: title,
    title,
    cell: (row) => <Time value={timeOf(row)} {...(fallback !== undefined && { fallback })} />,
    width: '140px',
  };
}

/** A button in each row, for what cannot be undone. */
export function confirmColumn<Row>({
  verb,
  offered,
  title,
  text,
  onConfirm,
}: {
  verb: string;
  offered: (row: Row) => boolean;
  title: (row: Row) => string;
  text: (row: Row) => ReactNode;
  onConfirm: (row: Row) => Promise<unknown>;
}): DataColumn<Row> {
  return {
    id: 'actions',
    title: 'Actions',
    width: '120px',
    align: 'end',
    cell: (row) =>
      offered(row) && (
        <ConfirmButton
          size="compact-xs"
          title={title(row)}
          text={text(row)}
          confirm={verb}
          onConfirm={() => onConfirm(row)}
        >
          {verb}
        </ConfirmButton>
      ),
  };
}
