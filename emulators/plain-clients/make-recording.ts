/**
 * Writes a recording in the local voice, as telephones carry it (mu-law, 8 kHz, one channel, WAV).
 *
 *   node make-recording.ts "Hello." recordings/hello.wav
 */
import { writeFileSync } from 'node:fs';
import { encodeMulaw } from '@parley/shared/audio/g711';
import { Resampler } from '@parley/shared/audio/resampler';
import { FLITE_SAMPLE_RATE, openFlite } from '@parley/shared/speech/flite';

const [text, file] = process.argv.slice(2);
if (text === undefined || file === undefined) throw new Error('Give a text and a file name.');

const speech = await openFlite();
try {
  const resampler = new Resampler(FLITE_SAMPLE_RATE, 8000);
  const spoken = resampler.process(await speech.synthesize(text));
  const mulaw = Buffer.concat([encodeMulaw(spoken), encodeMulaw(resampler.flush())]);
  const header = Buffer.alloc(46);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(38 + mulaw.length, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(18, 16);
  header.writeUInt16LE(7, 20); // WAVE_FORMAT_MULAW
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8000, 24);
  header.writeUInt32LE(8000, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.writeUInt16LE(0, 36);
  header.write('data', 38, 'latin1');
  header.writeUInt32LE(mulaw.length, 42);
  // Chunks end at even offsets.
  writeFileSync(file, Buffer.concat([header, mulaw, Buffer.alloc(mulaw.length % 2)]));
} finally {
  await speech[Symbol.asyncDispose]();
}
