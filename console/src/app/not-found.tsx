import { Button, Center } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { EmptyState } from '../components/empty-state.tsx';

export function NotFound() {
  return (
    <Center mih="60vh">
      <EmptyState
        title="There is no such page"
        text="The address may be mistyped, or the record it names was removed."
        action={
          <Button component={Link} to="/">
            Go to the start
          </Button>
        }
      />
    </Center>
  );
}
