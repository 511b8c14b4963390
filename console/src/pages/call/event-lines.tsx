import type { ReactNode } from 'react';
import { eventText } from './event-text.ts';
import type { LogEvent } from './session-log.ts';

/** Events in words, a line each. */
export function EventLines({
  events,
  time,
}: {
  events: readonly LogEvent[];
  /** When an event was, as it is told here. */
  time: (event: LogEvent) => ReactNode;
}) {
  return (
    <ol className="history">
      {events.map((event) => {
        const { title, details } = eventText(event);
        return (
          <li key={event.id}>
            {time(event)} {title}
            {details.length > 0 && (
              <span className="dim">
                {' '}
                {details.map(({ name, value }) => `${name}: ${value}`).join(' · ')}
              </span>
            )}
          </li>
        );
      })}
    </ol>
  );
}
