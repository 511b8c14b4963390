import { Button, Center } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { EmptyState } from '../components/empty-state.tsx';

/** What an address leads to that names nothing, or something of others. */
export function NotFound({ what = 'page' }: { what?: 'page' | 'record' }) {
  return (
    <Center mih="60vh">
      <EmptyState
        title={`There is no such ${what}`}
        text="The address may be mistyped, or the record it names was removed."
        action={
          what === 'page' && (
            <Button component={Link} to="/">
              Go to the start
            </Button>
          )
        }
      />
    </Center>
  );
}
