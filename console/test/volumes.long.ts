import type { Page } from 'playwright-core';
import t from 'tap';
import { CALLER_LINES } from '../../embedded/src/demonstration/script.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { OWNER, openConsole, settle, skip } from './fixtures/console-browser.ts';
import { fillCall, fillCalls } from './fixtures/many-records.ts';
import { newBrowser, signIn } from './fixtures/people.ts';

// What pages are like with more than anybody has at first. Times are told, never asserted: a machine may be busy. What is
// asserted is what makes them short, whoever else is at work. Only where somebody asks for it (`npm run test:long`).

const CALLS = 100_000;
const HOURS = 2;
const NODES = 200;
/** More rows than fit any screen, with those kept ready above and below. */
const MOST_ROWS = 80;

/** Keeps when what matched a selector was last changed, long tasks, and the times between frames. */
const WATCH = `
  window.watched = { changes: [], heard: [], long: [], frames: [] };
  const { parse } = JSON;
  JSON.parse = (text, ...more) => {
    const event = parse(text, ...more);
    if (typeof event?.data?.text === 'string' && event.at)
      watched.heard.push({ at: Date.parse(event.at), text: event.data.text });
    return event;
  };
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) watched.long.push(Math.round(duration));
  }).observe({ type: 'longtask', buffered: true });
  new MutationObserver((records) => {
    const changed = new Set();
    for (const { target } of records) {
      const element = target.nodeType === 1 ? target : target.parentElement;
      for (const kind of ['[role=table]', '.transcript', '.live-turns']) if (element?.closest(kind)) changed.add(kind);
    }
    for (const kind of changed) {
      const text = kind === '.live-turns' ? document.querySelector(kind)?.textContent : '';
      watched.changes.push({ kind, at: performance.now(), clock: Date.now(), text });
    }
  }).observe(document, { subtree: true, childList: true, characterData: true });
  window.countFrames = () => {
    let before = performance.now();
    watched.frames = [];
    const next = (now) => {
      watched.frames.push(now - before);
      before = now;
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  };`;

t.setTimeout(900_000);

void t.test('pages with very much to show', { skip: skip || (!LONG && 'npm run test:long') }, async (t) => {
  const opened = await openConsole(t);
  const { demonstration, desk, problems, project, url } = opened;
  const { agentId, rest } = demonstration;
  await fillCalls(opened, CALLS);
  const longCall = await fillCall(
    opened,
    Array.from(
      { length: HOURS * 720 },
      (_, n) => `Sentence ${n} of a long call, with as many words as are said in five seconds.`,
    ),
  );
  const context = await newBrowser(opened);
  await context.addInitScript(WATCH);
  const { page } = await signIn(opened, OWNER.email, context);
  /** From the answer to the first request for `part` until what matches `kind` shows it. */
  const beyond = async (part: string, kind: string) => {
    await settle(page);
    return page.evaluate<number>(
      `(() => {
          const answered = Math.min(...performance.getEntriesByType('resource').filter(({ name }) => name.includes(${JSON.stringify(part)})).map(({ responseEnd }) => responseEnd));
        return Math.round(watched.changes.find(({ at, kind }) => kind === ${JSON.stringify(kind)} && at >= answered).at - answered);
      })()`,
    );
  };
  const longTasks = () => page.evaluate<number[]>('watched.long.splice(0).filter((ms) => ms > 100)');

  await t.test('the first view', async (t) => {
    // It is bundled when it is first asked for.
    const asked = Date.now();
    await (await fetch(url)).text();
    t.comment(`bundled in ${Date.now() - asked} ms`);
    await page.goto(`${url}/projects/${project}/settings`);
    await settle(page);
    const shown = await page.evaluate<{ paint: number; requests: number }>(
      `({
          paint: Math.round(performance.getEntriesByName('first-contentful-paint')[0].startTime),
          requests: performance.getEntriesByType('resource').length,
        })`,
    );
    t.comment(
      `something to see after ${shown.paint} ms; ${shown.requests} requests; long tasks ${await longTasks()}`,
    );
    t.ok(shown.requests < 20, `${shown.requests} requests`);
  });

  await t.test(`a list of ${CALLS} calls`, async (t) => {
    const sessions = `/projects/${project}/sessions?`;
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes(sessions)) asked.push(request.url());
    });
    await page.goto(`${url}/projects/${project}/calls`);
    const table = page.getByRole('table', { name: 'Calls' });
    await table.getByRole('row').nth(10).waitFor();
    t.comment(
      `rows ${await beyond(sessions, '[role=table]')} ms after the answer; long tasks ${await longTasks()}`,
    );
    t.ok((await table.getByRole('row').count()) < MOST_ROWS, 'only what is in sight is in the page');

    asked.length = 0;
    for (let reached = 0; reached < 3000;) {
      reached = await scrollToEnd(page);
      await settle(page);
    }
    t.comment(`3000 rows: ${asked.length} requests; long tasks ${await longTasks()}`);
    t.ok(asked.length <= 40, `${asked.length} requests for 30 pages`);
    t.ok((await table.getByRole('row').count()) < MOST_ROWS, 'nor after scrolling');
    t.ok((await nodes(page)) < 4000, `${await nodes(page)} elements`);

    asked.length = 0;
    await page.getByLabel('Search calls').pressSequentially('4242', { delay: 20 });
    await page.waitForURL(/q=%224242/);
    await settle(page);
    t.comment(
      `filtered ${await beyond('q=4242', '[role=table]')} ms after the answer; long tasks ${await longTasks()}`,
    );
    t.ok(asked.length < 5, `${asked.length} requests for four keys`);
    await page.getByRole('button', { name: 'Clear', exact: true }).click();
    await page.goto(`${url}/projects/${project}/calls?status=failed`);
    await table.getByRole('row').nth(10).waitFor();
  });

  await t.test(`a transcript of ${HOURS} hours`, async (t) => {
    await page.goto(`${url}/projects/${project}/calls`);
    await settle(page);
    await longTasks();
    const began = Date.now();
    await page.getByRole('row', { name: new RegExp(`${HOURS}:00:00`) }).click();
    await page.getByText('Sentence 0 of a long call').waitFor();
    const took = Date.now() - began;
    const after = await beyond(`${longCall}/transcript`, '.transcript');
    t.comment(
      `opened in ${took} ms; whole ${after} ms after its words came; long tasks ${await longTasks()}`,
    );
    t.ok(
      (await page.locator('.transcript article').count()) < MOST_ROWS,
      'only what is in sight is in the page',
    );
    t.ok((await nodes(page)) < 12_000, `${await nodes(page)} elements`);
    await page.getByLabel('Find in the transcript').fill('Sentence 1300 of');
    await page.keyboard.press('Enter');
    await page.getByText('Sentence 1300 of').waitFor();
    t.comment(`long tasks of the search ${await longTasks()}`);
  });

  await t.test(`a flow of ${NODES} steps`, async (t) => {
    await rest.patch(`/v1/agents/${agentId}`, { flow_definition: flowOf(NODES) });
    await page.goto(`${url}/projects/${project}/agents/${agentId}/flow`);
    await page.locator('.react-flow__node').first().waitFor();
    await settle(page);
    await longTasks();
    const node = page.locator('.react-flow__node').first();
    const { x, y, width, height } = (await node.boundingBox())!;
    const before = await node.getAttribute('style');
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.down();
    await page.evaluate('countFrames()');
    for (let step = 1; step <= 60; step++)
      await page.mouse.move(x + width / 2 + step * 2, y + height / 2 + step);
    await page.mouse.up();
    const frames = (await page.evaluate<number[]>('watched.frames')).toSorted((a, b) => a - b);
    const at = (share: number) => Math.round(frames[Math.floor(frames.length * share)]!);
    t.comment(
      `${frames.length} frames: median ${at(0.5)} ms, 95 of 100 below ${at(0.95)} ms; long tasks ${await longTasks()}`,
    );
    t.not(await node.getAttribute('style'), before, 'it was moved');
    await page.getByText('Unsaved').or(page.getByText('Checking…')).first().waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    await rest.patch(`/v1/agents/${agentId}`, { flow_definition: null });
  });

  await t.test('words of a live call', async (t) => {
    await page.goto(`${url}/projects/${project}/calls`);
    await settle(page);
    const placed = await desk.place({
      carrier: 'plivo',
      to: demonstration.lines.plivo!.number,
      steps: [{ say: CALLER_LINES.hours }, { say: CALLER_LINES.goodbye }],
    });
    await page.getByRole('row', { name: /In progress/ }).click();
    const live = page.getByRole('region', { name: 'Live call' });
    await live.getByText('When do you close?').waitFor();
    await live.getByText('Goodbye').first().waitFor();
    const delays = await page.evaluate<number[]>(
      `watched.heard.flatMap(({ at, text }) => {
        const shown = watched.changes.find(
          (one) => one.kind === '.live-turns' && one.clock >= at && one.text.includes(text),
        );
        return shown && text !== '' ? [shown.clock - at] : [];
      })`,
    );
    t.comment(`on screen after their events, ms: ${delays.join(', ')}`);
    t.ok(delays.length > 0);
    await placed.outcome;
  });

  t.same(problems, [], 'nothing went wrong in the pages');
});

/** @returns how many rows are known now */
function scrollToEnd(page: Page): Promise<number> {
  return page.evaluate<number>(
    `(() => {
      const scroller = document.querySelector('.data-table');
      scroller.scrollTop = scroller.scrollHeight;
      return Math.round(scroller.scrollHeight / 44);
    })()`,
  );
}

function nodes(page: Page): Promise<number> {
  return page.evaluate<number>("document.querySelectorAll('*').length");
}

/** A tree of questions, three behind each. */
function flowOf(count: number) {
  const id = (n: number) => `step_${n}`;
  return {
    start_node_id: id(0),
    nodes: Array.from({ length: count }, (_, n) => ({
      id: id(n),
      name: `Step ${n}`,
      ...(3 * n + 1 < count
        ? { type: 'conversation', prompt: `Ask question ${n}.` }
        : { type: 'end', message: 'Goodbye.' }),
      position: { x: (n % 20) * 320, y: Math.floor(n / 20) * 200 },
    })),
    edges: Array.from({ length: count - 1 }, (_, at) => ({
      id: `edge_${at + 1}`,
      from: id(Math.floor(at / 3)),
      to: id(at + 1),
      condition: { type: 'llm', prompt: `The answer was ${at}.` },
    })),
  };
}
