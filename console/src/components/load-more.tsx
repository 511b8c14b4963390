import { Button, Group, Text } from '@mantine/core';
import { formatCount } from './format.ts';

/** Below a list that is read page by page: how much of it is shown, and the way to more. */
export function LoadMore({
  shown,
  total,
  isCapped = false,
  hasMore,
  loadingMore,
  loadMore,
}: {
  shown: number;
  total: number;
  /** There are more than `total`. */
  isCapped?: boolean;
  hasMore: boolean;
  loadingMore: boolean;
  loadMore: () => void;
}) {
  if (!hasMore && shown < 20) return null;
  return (
    <Group justify="space-between" p="sm">
      <Text size="sm" c="dimmed" role="status">
        {formatCount(shown)} of {isCapped ? 'more than ' : ''}
        {formatCount(Math.max(total, shown))}
      </Text>
      {hasMore && (
        <Button variant="default" size="compact-sm" loading={loadingMore} onClick={loadMore}>
          Load more
        </Button>
      )}
    </Group>
  );
}
