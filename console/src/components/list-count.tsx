import { Text } from '@mantine/core';
import { formatCount } from './format.ts';

/** Above a table: how many records there are. */
export function ListCount({
  list: { total, isCapped },
  one,
  many,
}: {
  list: { total: number; isCapped: boolean };
  one: string;
  many: string;
}) {
  return (
    <Text size="sm" c="dimmed" role="status">
      {isCapped ? 'More than ' : ''}
      {formatCount(total)} {total === 1 ? one : many}
    </Text>
  );
}
