import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import t from 'tap';
import { openDemonstration, openPage, skip } from './fixtures/talk-page.ts';

const AXE = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** What axe-core finds in a page that keeps people out. */
async function seriousFaults(page: Page): Promise<string[]> {
  // Run by the browser's own tools: the page's policy allows no script of others.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate<AxeResults>(
    "axe.run(document, { resultTypes: ['violations'] })",
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes
          .map((node) => node.html)
          .join(' ')
          .slice(0, 400)}`,
    );
}

/** Labels and legends that the focus ring of their first control covers. */
async function hiddenNames(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll('label, legend')].flatMap((name) => {
    const control = name.control ?? name.parentElement.querySelector('button');
    const { outlineWidth, outlineOffset } = (control.focus({ focusVisible: true }), getComputedStyle(control));
    const ring = control.getBoundingClientRect().top - parseFloat(outlineWidth) - parseFloat(outlineOffset);
    return control === document.activeElement && ring < name.getBoundingClientRect().bottom ? [name.textContent] : [];
  })`);
}

/** Of the whole description, which a browser takes seconds for, as much as shows each method. */
function onePathForEachMethod(paths: Record<string, object>): Record<string, object> {
  const entries = ['get', 'post', 'put', 'patch', 'delete'].map((method) =>
    Object.entries(paths).find(([, item]) => method in item)!,
  );
  return Object.fromEntries(entries);
}

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
  t.same(await seriousFaults(page), [], 'nothing keeps anybody out of the conversation');
  await page.emulateMedia({ colorScheme: 'dark' });
  t.same(await seriousFaults(page), [], 'nor in the dark');
  t.same(await hiddenNames(page), [], 'no name lies under the ring of what has the focus');
  await page.emulateMedia({ colorScheme: 'light' });
  await page.route('**/openapi.json', async (route) => {
    const whole = (await (await route.fetch()).json()) as { paths: Record<string, object> };
    await route.fulfill({ json: { ...whole, paths: onePathForEachMethod(whole.paths) } });
  });
  await page.goto(new URL('/docs', url).href);
  await page.locator('.opblock-post .opblock-summary-control').first().click({ timeout: 100_000 });
  await page.getByRole('button', { name: 'Try it out' }).waitFor();
  t.same(await seriousFaults(page), [], 'nor of the description');
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
