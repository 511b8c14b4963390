import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { decodeModel } from './acoustic-model.ts';
import { FlitePhones } from './flite-phones.ts';
import { ListeningStream } from './listening-stream.ts';
import { Pronunciation } from './pronunciation.ts';
import type { RecogniserReply, RecogniserRequest } from './recogniser.ts';
import { buildGraph } from './sentence-graph.ts';
import type { PronouncedSentence } from './sentence-graph.ts';

const port = parentPort!;
const model = decodeModel(readFileSync(new URL('acoustic-model.bin', import.meta.url)));
const pronunciation = new Pronunciation(new FlitePhones(), model.phones);
const sentences = new Map<string, PronouncedSentence>();
const streams = new Map<number, ListeningStream>();
let graph = buildGraph(model, []);

function reply(message: RecogniserReply): void {
  port.postMessage(message);
}

async function teach(texts: readonly string[]): Promise<void> {
  pronunciation.prepare(texts);
  for (const text of texts) {
    const key = text.trim().replace(/\s+/g, ' ');
    if (sentences.has(key)) continue;
    const pronounced = pronunciation.pronounce(key);
    if (pronounced) sentences.set(key, pronounced);
    // Audio of running calls comes in between.
    await setImmediate();
  }
  graph = buildGraph(model, [...sentences.values()]);
}

function handle(request: RecogniserRequest): void {
  const { id } = request;
  switch (request.type) {
    case 'teach':
      void teach(request.sentences).then(
        () => reply({ type: 'taught', id, known: sentences.size, error: undefined }),
        (error: unknown) => reply({ type: 'taught', id, known: sentences.size, error: String(error) }),
      );
      break;
    case 'open':
      streams.set(id, new ListeningStream(model, request.format));
      break;
    case 'audio':
      streams.get(id)?.push(request.bytes, graph, (slice) => reply({ type: 'heard', id, ...slice }));
      break;
    case 'flush':
      reply({ type: 'flushed', id });
      break;
    case 'end_utterance':
      streams.get(id)?.endUtterance();
      break;
    case 'close':
      streams.delete(id);
      break;
  }
}

port.on('message', handle);
reply({ type: 'ready' });
