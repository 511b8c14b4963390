import type { ExtraProps } from './record-extras.tsx';

/** A sound, to be heard. */
export default function AudioExtra({ record }: ExtraProps) {
  const url = record['url'];
  if (typeof url !== 'string') return null;
  return <audio controls src={url} aria-label={String(record['name'])} style={{ width: '100%' }} />;
}
