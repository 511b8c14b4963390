import { on } from 'node:events';
import t from 'tap';
import WebSocket from 'ws';
import { bytesFromPcm16, pcm16FromBytes } from '@parley/shared/audio/audio-frame';
import { wavHeader } from '@parley/shared/audio/wav';
import { openRealtimePlatform } from './fixtures/realtime-platform.ts';

/** Hz, of a tone that no voice has. */
const TONE = 1250;
const RATE = 16_000;
const SECONDS = 0.8;

function toneFile(): Uint8Array<ArrayBuffer> {
  const samples = Int16Array.from({ length: RATE * SECONDS }, (_, i) =>
    Math.round(12_000 * Math.sin((2 * Math.PI * TONE * i) / RATE)),
  );
  const data = bytesFromPcm16(samples);
  return new Uint8Array([...wavHeader({ sampleRate: RATE, channels: 1, dataBytes: data.length }), ...data]);
}

/** How often the wave goes up through zero. */
function waves(samples: Int16Array): number {
  let ups = 0;
  for (let i = 1; i < samples.length; i++) if (samples[i - 1]! < 0 && samples[i]! >= 0) ups++;
  return ups;
}

void t.test('the caller hears the uploaded greeting, and the transcript has its words', async (t) => {
  const greeting = 'Welcome to the shop.';
  const { platform, agentId, apiKey, rest, url, mint } = await openRealtimePlatform(t, {
    agent: { greeting },
  });
  const agent = await rest.get<{ org_id: string; project_id: string }>(`/v1/agents/${agentId}`);
  const form = new FormData();
  form.set('name', 'Welcome');
  form.set('kind', 'greeting');
  form.set('file', new File([toneFile()], 'welcome.wav'));
  const response = await fetch(
    `${platform.publicUrl}/v1/orgs/${agent.org_id}/projects/${agent.project_id}/audio-assets`,
    { method: 'POST', headers: { authorization: `Bearer ${apiKey}` }, body: form },
  );
  t.equal(response.status, 201);
  const { id } = (await response.json()) as { id: string };
  for (let status = ''; status !== 'ready';) {
    ({ status } = await rest.get<{ status: string }>(`/v1/audio-assets/${id}`));
    t.not(status, 'failed');
  }
  await rest.patch(`/v1/agents/${agentId}`, { config: { greeting: { audio_asset_id: id } } });

  const { token, sessionId } = await mint();
  const socket = new WebSocket(url, ['realtime', `openai-insecure-api-key.${token}`]);
  t.teardown(() => socket.terminate());
  const audio: Buffer[] = [];
  let words = '';
  for await (const [data] of on(socket, 'message') as AsyncIterable<[Buffer]>) {
    const event = JSON.parse(data.toString()) as { type: string; delta?: string };
    if (event.type === 'response.output_audio.delta') audio.push(Buffer.from(event.delta!, 'base64'));
    if (event.type === 'response.output_audio_transcript.delta') words += event.delta!;
    if (event.type === 'response.done') break;
  }
  const heard = pcm16FromBytes(Buffer.concat(audio));
  t.ok(Math.abs(heard.length / 24_000 - SECONDS) < 0.03, `${heard.length / 24_000} s at 24 kHz`);
  t.ok(Math.abs(waves(heard) - TONE * SECONDS) < 20, `${waves(heard)} waves`);
  t.equal(words, greeting);

  const path = `/v1/sessions/${sessionId}/transcript`;
  let turns: { role: string; text: string }[] = [];
  while (turns.length === 0) ({ items: turns } = await rest.get<{ items: typeof turns }>(path));
  t.match(turns, [{ role: 'agent', text: greeting }]);
});
