import { SpeakSample } from '../agents/voice-preview.tsx';
import type { ExtraProps } from './record-extras.tsx';

/** A voice speaks a sentence of yours. */
export default function VoiceExtra({ record }: ExtraProps) {
  return <SpeakSample voiceId={String(record['id'])} label="Speak" initial="" />;
}
