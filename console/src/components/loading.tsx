import { Center, Loader } from '@mantine/core';

/** A page, or a part of one, that is on its way. */
export function Loading({ label = 'Loading', height = '40vh' }: { label?: string; height?: string }) {
  return (
    <Center mih={height} p="md" role="status" aria-label={label}>
      <Loader />
    </Center>
  );
}
