import type { ReactNode } from 'react';
import './fields.css';

/** Names with their values, one below the other; those without a value are left out. */
export function Fields({ rows }: { rows: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="fields">
      {rows.map(([name, value], at) =>
        value === null ? null : (
          <div key={at}>
            <dt>
              <bdi>{name}</bdi>
            </dt>
            <dd dir="auto">{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
