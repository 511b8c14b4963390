import t from 'tap';
import { applyConfig, NEW_AGENT, type StoredConfig } from './agent-config-input.ts';

const apply = (current: StoredConfig, patch: Record<string, unknown>) =>
  applyConfig(current, patch, { outboundAllow: [] });

void t.test('null asks for the default that new agents have', (t) => {
  const detection = (current: StoredConfig, patch: Record<string, unknown>) =>
    apply(current, patch).full.answer_detection;
  const asked = { enabled: null, decide_within_seconds: 9 };
  t.match(detection(NEW_AGENT, { answer_detection: asked }), { enabled: true, decide_within_seconds: 9 });

  const off = apply(NEW_AGENT, { answer_detection: { enabled: false, decide_within_seconds: 9 } });
  t.match(off.full.answer_detection, { enabled: false });
  t.match(detection(off, { answer_detection: { enabled: null } }), {
    enabled: true,
    decide_within_seconds: 9,
  });
  t.match(detection(off, { answer_detection: null }), { enabled: true, decide_within_seconds: 6 });
  t.match(
    detection(off, { greeting: { delay_ms: 100 } }),
    { enabled: false },
    'who says nothing changes nothing',
  );
  t.equal(apply(NEW_AGENT, { auto_database: null }).full.auto_database, true);

  const older: StoredConfig = { config: {}, webhooks: {} };
  t.match(detection(older, { answer_detection: { decide_within_seconds: 9 } }), { enabled: false });
  t.match(detection(older, { answer_detection: { enabled: null } }), { enabled: true });
  t.end();
});
