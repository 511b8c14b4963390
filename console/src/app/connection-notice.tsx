import { Alert } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { reachability } from '../api/reachability.ts';
import { CircleAlert } from '../components/icons.ts';

/** Above every page while the server does not answer. */
export function ConnectionNotice() {
  const isReachable = useSyncExternalStore(reachability.subscribe, () => reachability.isReachable);
  return (
    <div role="status" className="connection-notice">
      {!isReachable && (
        <Alert
          color="yellow"
          variant="light"
          mb="md"
          icon={<CircleAlert size={18} />}
          title="The server cannot be reached"
        >
          It is tried again by itself. What you see is as it was last; what you typed stays.
        </Alert>
      )}
    </div>
  );
}
