import { Tooltip } from '@mantine/core';
import { formatLatency } from '../../components/format.ts';
import { LATENCY_LABELS, LATENCY_PARTS } from './reply-latency.ts';
import type { LatencyPart, ReplyLatency } from './reply-latency.ts';
import './latency-bar.css';

/** What a reply waited for, as a stacked bar. @param scale milliseconds that the whole width is */
export function LatencyBar({ latency, scale }: { latency: ReplyLatency; scale: number }) {
  const text = latency.parts
    .map(({ part, ms }) => `${LATENCY_LABELS[part]} ${formatLatency(ms)}`)
    .join(' · ');
  const saved = latency.saved > 0 ? ` · thinking ahead saved ${formatLatency(latency.saved)}` : '';
  return (
    <Tooltip label={`${text}${saved}`} multiline maw={320}>
      <span
        className="latency"
        tabIndex={0}
        role="img"
        aria-label={`Reply after ${formatLatency(latency.total)}: ${text}${saved}`}
      >
        <span className="latency-bar" aria-hidden>
          {latency.parts.map(({ part, ms }) => (
            <span
              key={part}
              className={`latency-part latency-${part}`}
              style={{ width: `${Math.min(100, (ms / scale) * 100)}%` }}
            />
          ))}
        </span>
        <span aria-hidden>{formatLatency(latency.total)}</span>
      </span>
    </Tooltip>
  );
}

export function LatencyLegend({ parts = LATENCY_PARTS }: { parts?: readonly LatencyPart[] }) {
  return (
    <span className="latency-legend">
      {parts.map((part) => (
        <span key={part}>
          <span className={`latency-key latency-${part}`} aria-hidden /> {LATENCY_LABELS[part]}
        </span>
      ))}
    </span>
  );
}
