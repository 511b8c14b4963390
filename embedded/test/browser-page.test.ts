import t from 'tap';
import { openDemonstration, openPage, skip } from './fixtures/talk-page.ts';

void t.test('without a microphone the page says why, and one can write', { skip }, async (t) => {
  const { url } = await openDemonstration(t);
  const { page, problems } = await openPage(t);
  await page.goto(url);
  await page.getByLabel('Or write to the agent').fill('When are you open?');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('does not let this page use the microphone').waitFor();
  await page.getByText('We are open every day from noon until eleven in the evening.').waitFor();
  t.equal(await page.locator('.turn.mine .words').textContent(), 'When are you open?');
  const texts = await page.locator('.turn .words').allTextContents();
  const greeting = texts.length > 2 ? texts[0]! : '';
  t.ok('Good'.startsWith(greeting), `of the greeting only what was heard is left: ${texts.join(' | ')}`);
  t.ok(await page.getByRole('button', { name: 'Mute' }).isDisabled());
  t.same(problems, [], 'nothing went wrong in the page');
});

void t.test('the page gives tokens to pages of this machine alone', async (t) => {
  const { url, platform } = await openDemonstration(t);
  const { host, origin } = new URL(url);
  const ask = (headers: Record<string, string>, method = 'POST') =>
    fetch(`${url}/sessions`, { method, headers });
  const minted = await ask({ origin });
  t.equal(minted.status, 200);
  t.equal(minted.headers.get('cache-control'), 'no-store');
  t.match(await minted.json(), { token: /^ek_/, session_id: String });
  t.equal((await ask({})).status, 403, 'no page at all');
  t.equal((await ask({ origin: 'https://elsewhere.example' })).status, 403, 'somebody else’s page');
  t.equal((await ask({ origin }, 'GET')).status, 405);
  t.equal((await fetch(`${url}/../secrets.json`)).status, 404);
  t.equal((await fetch(`${url}/nothing.js`)).status, 404);
  const page = await fetch(url);
  t.match(page.headers.get('content-security-policy'), /default-src 'none'/);
  const text = await page.text();
  t.notMatch(text, platform.secrets.demonstration_key!, 'the key is not in the page');
  t.equal((await fetch(`http://${host}/health/live`)).status, 200, 'everything else is served as before');
});
