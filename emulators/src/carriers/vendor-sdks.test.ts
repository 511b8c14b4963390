import { createRequire } from 'node:module';
import tls from 'node:tls';
import t from 'tap';
import type { Test } from 'tap';
import { Telnyx } from 'telnyx';
import twilio from 'twilio';
import { openStubPlatform, type StubPlatform } from '../../test/fixtures/stub-platform.ts';
import { openTlsProxy } from '../../test/fixtures/tls-proxy.ts';
import { hasOpenssl, makeCertificate } from '../server/make-certificate.ts';
import { openPlivoCarrierEmulator } from './plivo-carrier-emulator.ts';
import { openTelnyxCarrierEmulator } from './telnyx-carrier-emulator.ts';
import { openTwilioCarrierEmulator } from './twilio-carrier-emulator.ts';

// The vendors' own clients dial, find and end calls. Telnyx's takes a base URL; Twilio's takes none, but an HTTP client;
// Plivo's takes neither, and reaches an emulator only through a proxy that is the vendor's host to it.

const TO = '+442071230000';
const HOSTS = /^https:\/\/(api|pricing)\.twilio\.com/;
const CONNECTION = '1293384261075731461';

interface PlivoSdk {
  Client: new (
    authId: string,
    authToken: string,
    options: { proxy: string; timeout: number },
  ) => {
    calls: {
      create(from: string, to: string, answerUrl: string, more: object): Promise<{ requestUuid: string }>;
      listLiveCalls(filter: object): Promise<{ callUuid: string }[]>;
      getLiveCall(id: string): Promise<{ callStatus: string; requestUuid: string; to: string }>;
      list(filter: object): Promise<{ callUuid: string; hangupCauseCode: number }[]>;
      cancel(requestUuid: string): Promise<unknown>;
    };
    applications: { create(name: string, more: object): Promise<{ appId: string }> };
    numbers: {
      search(country: string, more: object): Promise<{ number: string; monthlyRentalRate: string }[]>;
      buy(number: string, appId: string): Promise<{ numbers: { status: string }[] }>;
      get(number: string): Promise<{ application: string }>;
      update(number: string, change: object): Promise<unknown>;
      unrent(number: string): Promise<unknown>;
    };
  };
}

async function openPlatform(t: Test): Promise<StubPlatform> {
  const platform = await openStubPlatform(() => '<Response/>');
  t.teardown(() => platform[Symbol.asyncDispose]());
  return platform;
}

void t.test('Telnyx, by its base URL', async (t) => {
  const platform = await openPlatform(t);
  const emulator = await openTelnyxCarrierEmulator({ connectionId: CONNECTION });
  t.teardown(() => emulator[Symbol.asyncDispose]());
  emulator.setTelephones(() => ({ does: 'ring', afterMs: 0 }));
  const client = new Telnyx({
    apiKey: emulator.credentials['api_key']!,
    baseURL: `${emulator.apiUrl}/v2`,
    maxRetries: 0,
  });
  const wish = {
    ...{ connection_id: CONNECTION, from: '+14155550103', to: TO },
    ...{ webhook_url: `${platform.url}/events`, timeout_secs: 60 },
  };
  const { data } = await client.calls.dial({ ...wish, client_state: 'ZGlhbC0x' });
  const call = await emulator.dialledCall();
  t.equal(data?.call_control_id, call.callId);
  t.match((await client.calls.retrieveStatus(call.callId)).data, { is_alive: true });
  const active: unknown[] = [];
  for await (const one of client.connections.listActiveCalls(CONNECTION)) active.push(one);
  t.match(active, [{ call_control_id: call.callId, client_state: 'ZGlhbC0x' }]);
  await client.calls.actions.hangup(call.callId, {});
  t.match(await call.ended, { source: 'api', cause: 'originator_cancel 487' });
  t.match((await client.calls.retrieveStatus(call.callId)).data, { is_alive: false });
  const begun: unknown[] = [];
  const filter = { to: TO, name: 'call.initiated' };
  for await (const event of client.callEvents.list({ filter })) begun.push(event);
  t.match(begun, [{ name: 'call.initiated', record_type: 'call_event' }]);
  await t.rejects(client.calls.dial({ ...wish, to: 'nobody' }), /^422 .*10016/);

  const forSale = { country_code: 'US', national_destination_code: '646', limit: 2 };
  const { data: [offer] = [] } = await client.availablePhoneNumbers.list({ filter: forSale });
  t.match(offer, { cost_information: { monthly_cost: '1.15', currency: 'USD' } });
  const { phone_number = '' } = offer ?? {};
  const { data: application } = await client.callControlApplications.create({
    ...{ application_name: 'Desk', webhook_event_url: `${platform.url}/events` },
  });
  const { data: order } = await client.numberOrders.create({
    ...{ phone_numbers: [{ phone_number }], connection_id: application!.id!, customer_reference: 'o-1' },
  });
  t.match(await client.numberOrders.retrieve(order!.id!), { data: { status: 'success' } });
  const owned = [];
  for await (const one of client.phoneNumbers.list({ filter: { phone_number: phone_number.slice(1) } }))
    owned.push(one);
  t.match(owned, [{ phone_number, status: 'active', connection_id: application!.id! }]);
  await client.phoneNumbers.update(owned[0]!.id, { connection_id: CONNECTION });
  t.match(await client.phoneNumbers.retrieve(owned[0]!.id), { data: { connection_id: CONNECTION } });
  await client.phoneNumbers.delete(owned[0]!.id);
  await t.rejects(client.phoneNumbers.retrieve(owned[0]!.id), /^404/);
});

void t.test('Twilio, by an HTTP client that asks another host', async (t) => {
  const platform = await openPlatform(t);
  const emulator = await openTwilioCarrierEmulator();
  t.teardown(() => emulator[Symbol.asyncDispose]());
  emulator.setTelephones(() => ({ does: 'ring', afterMs: 0 }));
  const http = new twilio.RequestClient();
  const { account_sid, auth_token } = emulator.credentials;
  const client = twilio(account_sid, auth_token, {
    httpClient: {
      request: (options) => http.request({ ...options, uri: options.uri.replace(HOSTS, emulator.apiUrl) }),
    } as typeof http,
  });
  const created = await client.calls.create({
    ...{ from: '+14155550102', to: TO, url: `${platform.url}/voice`, timeout: 60 },
    statusCallback: `${platform.url}/status`,
    statusCallbackEvent: ['ringing', 'completed'],
  });
  const call = await emulator.dialledCall();
  t.match(created, { sid: call.callId, status: 'queued', direction: 'outbound-api', to: TO });
  await platform.request(({ fields }) => fields['CallStatus'] === 'ringing');
  const listed = await client.calls.list({ to: TO, limit: 5 });
  t.match(listed, [{ sid: call.callId, status: 'ringing' }]);
  t.match(await client.calls(call.callId).update({ status: 'canceled' }), { status: 'canceled' });
  t.match(await call.ended, { source: 'api', cause: 'canceled 487' });
  t.match(await client.calls(call.callId).fetch(), { status: 'canceled' });
  await t.rejects(client.calls.create({ from: '+14155550102', to: 'nobody', url: 'https://a/b' }), {
    code: 21211,
    status: 400,
  });

  const [offer] = await client.availablePhoneNumbers('US').local.list({ areaCode: 646, limit: 2 });
  t.match(offer, { isoCountry: 'US', addressRequirements: 'none', capabilities: { voice: true } });
  const prices = await client.pricing.v1.phoneNumbers.countries('US').fetch();
  t.match(prices, { priceUnit: 'USD', isoCountry: 'US' });
  const { phoneNumber } = offer!;
  const voiceUrl = `${platform.url}/voice`;
  const bought = await client.incomingPhoneNumbers.create({ phoneNumber, voiceUrl });
  t.match(bought, { phoneNumber, voiceUrl, status: 'in-use' });
  t.match(await client.incomingPhoneNumbers.list({ phoneNumber, limit: 1 }), [{ sid: bought.sid }]);
  t.match(await client.incomingPhoneNumbers(bought.sid).update({ voiceUrl: '' }), { voiceUrl: '' });
  t.equal(await client.incomingPhoneNumbers(bought.sid).remove(), true);
  const gone = client.incomingPhoneNumbers.create({ phoneNumber: '+16465552029', voiceUrl });
  await t.rejects(gone, { code: 21422, status: 400 });
});

void t.test(
  'Plivo, through a proxy that is its host',
  { skip: hasOpenssl ? false : 'openssl is not installed' },
  async (t) => {
    const platform = await openPlatform(t);
    const certificate = await makeCertificate(t.testdir(), 'DNS:api.plivo.com');
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate.cert]);
    const emulator = await openPlivoCarrierEmulator();
    const proxy = await openTlsProxy({ ...certificate, port: Number(new URL(emulator.apiUrl).port) });
    t.teardown(async () => {
      await proxy[Symbol.asyncDispose]();
      await emulator[Symbol.asyncDispose]();
    });
    emulator.setTelephones(() => ({ does: 'ring', afterMs: 0 }));
    const { Client } = createRequire(import.meta.url)('plivo') as PlivoSdk;
    const { auth_id, auth_token } = emulator.credentials;
    const { applications, calls, numbers } = new Client(auth_id!, auth_token!, {
      proxy: proxy.url,
      timeout: 10_000,
    });
    const dial = { hangupUrl: `${platform.url}/status`, ringTimeout: 60 };
    const created = await calls.create('14155550101', TO.slice(1), `${platform.url}/voice`, dial);
    const call = await emulator.dialledCall();
    t.match(await calls.listLiveCalls({ toNumber: TO.slice(1) }), [{ callUuid: call.callId }]);
    t.match(await calls.getLiveCall(call.callId), {
      ...{ callStatus: 'ringing', to: TO.slice(1) },
      requestUuid: created.requestUuid,
    });
    await calls.cancel(created.requestUuid);
    t.match(await call.ended, { source: 'api', cause: '1000 Cancelled' });
    t.match(await calls.list({ toNumber: TO.slice(1) }), [{ callUuid: call.callId, hangupCauseCode: 1000 }]);
    await t.rejects(calls.create('14155550101', 'nobody', `${platform.url}/voice`, dial), /to parameter/);

    const [offer] = await numbers.search('US', { type: 'local', pattern: '646' });
    t.match(offer, { monthlyRentalRate: '1.15000' });
    const { number } = offer!;
    const { appId } = await applications.create('desk', { answerUrl: `${platform.url}/voice` });
    t.match(await numbers.buy(number, appId), { numbers: [{ status: 'Success' }] });
    t.match((await numbers.get(number)).application, `/Application/${appId}/`);
    await numbers.update(number, { appId });
    await numbers.unrent(number);
    await t.rejects(numbers.get(number), /not found/);
  },
);
