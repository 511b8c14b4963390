import t from 'tap';
import { carrierCallbackPath, isGatewayUpgrade, mediaWsUrl, realtimeWsUrl } from './addresses.ts';

void t.test('the two upgrade paths belong to a gateway, nothing else does', async (t) => {
  const cases: [string, boolean][] = [
    ['/v1/realtime', true],
    ['/v1/realtime?model=agt_1', true],
    ['/v1/realtime/sessions', false],
    ['/v1/realtimes', false],
    ['/media/v1/streams/plivo/abc', true],
    ['/media/v1/streams/twilio/abc?x=/v1/realtime', true],
    ['/media/v1/recordings/rec_1', false],
    ['/x?y=/media/v1/streams/', false],
    ['/', false],
  ];
  for (const [path, expected] of cases) t.equal(isGatewayUpgrade(path), expected, path);
});

void t.test('WebSocket addresses follow the public address', async (t) => {
  t.equal(realtimeWsUrl('https://voice.example'), 'wss://voice.example/v1/realtime');
  t.equal(mediaWsUrl('http://127.0.0.1:8080', 'plivo'), 'ws://127.0.0.1:8080/media/v1/streams/plivo');
  t.equal(carrierCallbackPath('telnyx', 'voice', 'tel_1'), '/api/v1/webhooks/carriers/telnyx/voice/tel_1');
});
