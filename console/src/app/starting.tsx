import { Loader } from '@mantine/core';
import { ErrorMessage } from '../components/error-message.tsx';
import { Brand } from './brand.tsx';
import { ConnectionNotice } from './connection-notice.tsx';

/**
 * The frame before it is known who is here. It looks as what the server sends before the scripts have come
 * (control-plane/src/console/console-page.ts), so that nothing moves meanwhile.
 */
export function Starting({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  return (
    <div className="starting">
      <div className="starting-side">
        <Brand />
      </div>
      <main className="starting-content">
        <ConnectionNotice />
        {error != null ? (
          <ErrorMessage error={error} onRetry={onRetry} />
        ) : (
          <div role="status" aria-label="Loading">
            <Loader />
          </div>
        )}
      </main>
    </div>
  );
}
