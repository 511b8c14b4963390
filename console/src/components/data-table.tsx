import { Button, Center, Text } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState } from 'react';
import type { CSSProperties, KeyboardEvent, ReactNode } from 'react';
import './data-table.css';

export interface DataColumn<Row> {
  id: string;
  title: string;
  cell: (row: Row) => ReactNode;
  /** CSS grid width; `minmax(120px, 1fr)` when not given. */
  width?: string;
  align?: 'start' | 'end';
}

export interface DataTableProps<Row> {
  /** What the rows are, for whoever does not see the page: `Calls`. */
  label: string;
  rows: readonly Row[];
  columns: readonly DataColumn<Row>[];
  rowKey: (row: Row) => string;
  /** Opens a row, by click or Enter. */
  onOpen?: (row: Row) => void;
  /** More rows can be had: asked for when the end comes into sight. */
  hasMore?: boolean;
  loadingMore?: boolean;
  onLoadMore?: () => void;
  /** Of the whole table in pixels or CSS; rows beyond it scroll. */
  height?: number | string;
  rowHeight?: number;
  /** Marks a row, such as one that has just come. */
  rowColor?: (row: Row) => string | undefined;
}

/** Rows are asked for this many before the last one is seen. */
const AHEAD = 10;

/**
 * A table of any length: only the rows in sight are in the page. One row takes the focus; arrows, Page Up and Down, Home
 * and End move it, Enter opens it.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, rows, columns, rowKey, onOpen, hasMore = false, loadingMore = false, onLoadMore } = props;
  const { height = 'min(70vh, 900px)', rowHeight = 44, rowColor } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [focused, setFocused] = useState(0);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    getItemKey: (index) => rowKey(rows[index]!),
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  const nearEnd = rows.length > 0 && last >= rows.length - AHEAD;
  const end = rows.length === 0 ? undefined : rowKey(rows.at(-1)!);
  const asked = useRef<string>(undefined);
  useEffect(() => {
    // Once by itself: when that fails, the button asks again.
    if (!nearEnd || !hasMore || loadingMore || asked.current === end) return;
    asked.current = end;
    onLoadMore?.();
  }, [nearEnd, hasMore, loadingMore, onLoadMore, end]);

  const current = Math.min(focused, rows.length - 1);
  const grid: CSSProperties = {
    gridTemplateColumns: columns.map(({ width }) => width ?? 'minmax(120px, 1fr)').join(' '),
  };

  function move(to: number) {
    const index = Math.max(0, Math.min(rows.length - 1, to));
    setFocused(index);
    virtual.scrollToIndex(index);
    // The row may not be in the page before it has been scrolled to.
    requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus(),
    );
  }

  function onKeyDown(event: KeyboardEvent<HTMLElement>, index: number) {
    if (event.target !== event.currentTarget) return;
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 400) / rowHeight) - 2);
    const targets: Record<string, number> = {
      ArrowDown: index + 1,
      ArrowUp: index - 1,
      PageDown: index + page,
      PageUp: index - page,
      Home: 0,
      End: rows.length - 1,
    };
    const target = targets[event.key];
    if (target !== undefined) move(target);
    else if (event.key === 'Enter' && onOpen) onOpen(rows[index]!);
    else return;
    event.preventDefault();
  }

  return (
    <div className="data-table" ref={scroller} style={{ maxHeight: height }}>
      <div role="table" aria-label={label} aria-rowcount={hasMore ? -1 : rows.length + 1}>
        <div role="rowgroup" className="data-table-head">
          <div role="row" className="data-table-row" style={grid} aria-rowindex={1}>
            {columns.map(({ id, title, align }) => (
              <div role="columnheader" key={id} data-align={align}>
                {title}
              </div>
            ))}
          </div>
        </div>
        <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
          {items.map(({ index, key, start }) => {
            const row = rows[index]!;
            const color = rowColor?.(row);
            return (
              <div
                role="row"
                key={key}
                data-index={index}
                aria-rowindex={index + 2}
                className="data-table-row data-table-body-row"
                data-open={onOpen !== undefined || undefined}
                tabIndex={index === current ? 0 : -1}
                style={{
                  ...grid,
                  height: rowHeight,
                  transform: `translateY(${start}px)`,
                  ...(color !== undefined && { background: color }),
                }}
                onFocus={() => setFocused(index)}
                onKeyDown={(event) => onKeyDown(event, index)}
                onClick={(event) => {
                  // A link or button in the row has its own way.
                  if (onOpen && !(event.target as Element).closest('a, button, input, label')) onOpen(row);
                }}
              >
                {columns.map(({ id, cell, align }) => (
                  <div role="cell" key={id} data-align={align}>
                    {cell(row)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
      {hasMore && (
        <Center p="xs">
          {loadingMore ? (
            <Text size="sm" c="dimmed" role="status">
              Loading more
            </Text>
          ) : (
            <Button variant="default" size="compact-sm" onClick={onLoadMore}>
              Load more
            </Button>
          )}
        </Center>
      )}
    </div>
  );
}
