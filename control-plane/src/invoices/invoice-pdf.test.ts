import { inflateSync } from 'node:zlib';
import t from 'tap';
import { systemClock } from '@parley/shared/time/clock';
import type { PrintedInvoice } from './invoice-pdf.ts';
import { InvoicePrinter } from './invoice-printer.ts';

const NAMES = [
  'Plain sales',
  'Ελληνικά',
  'Русский проект',
  'شركة الاتصالات (2026) – فرع ABC',
  'हिन्दी परियोजना',
  '中文项目',
];

function invoice(more: Partial<PrintedInvoice> = {}, names: readonly string[] = NAMES): PrintedInvoice {
  return {
    number: 'INV-000042',
    org_id: 'org_01k5z8r5m2q7v3x9b4n6c8d0ef',
    buyer: 'Example Co.',
    seller: {
      name: 'Seller',
      address: ['1 Long Road', '10115 Berlin'],
      tax_id: 'DE123456789',
      tax_name: 'VAT',
      tax_rate: 190_000,
      paper: 'A4',
    },
    period_start: '2026-10-01',
    period_end: '2026-10-31',
    currency: 'USD',
    lines: names.map((name) => ({
      project_id: 'prj_1',
      name,
      sessions: 1,
      connected_ms: 90_000n,
      amount_nano: 123_456_789n,
    })),
    subtotal_nano: 740_000_000n,
    tax_nano: 140_000_000n,
    total_nano: 880_000_000n,
    issued_at: new Date('2026-11-03T20:00:00Z'),
    due_at: null,
    ...more,
  };
}

/** What a viewer would copy: each page's glyphs by their fonts' ToUnicode maps, in the order in which they are drawn. */
function textOf(pdf: Uint8Array): string[] {
  const source = Buffer.from(pdf).toString('latin1');
  const objects = new Map<string, { head: string; stream: string }>();
  for (const [, id, body] of source.matchAll(/(\d+) 0 obj\n([^]*?)\nendobj/g)) {
    const at = body!.indexOf('\nstream\n');
    const raw = at < 0 ? '' : body!.slice(at + 8, body!.lastIndexOf('\nendstream'));
    const head = at < 0 ? body! : body!.slice(0, at);
    const stream = head.includes('FlateDecode')
      ? inflateSync(Buffer.from(raw, 'latin1')).toString('latin1')
      : raw;
    objects.set(id!, { head, stream });
  }
  const unicode = new Map<string, Map<string, string>>();
  const fontNames = new Map<string, string>();
  for (const { head } of objects.values())
    for (const [, name, id] of head.matchAll(/\/(F\d+) (\d+) 0 R/g)) fontNames.set(name!, id!);
  for (const [name, id] of fontNames) {
    const map = new Map<string, string>();
    const to = /\/ToUnicode (\d+) 0 R/.exec(objects.get(id)!.head)?.[1];
    const glyphs = [...objects.get(to!)!.stream.matchAll(/<([0-9a-f]{4})> <([0-9a-f]{4})> \[([^\]]*)\]/g)];
    for (const [, first, , list] of glyphs)
      for (const [index, [, codes]] of [...list!.matchAll(/<([0-9a-f ]*)>/g)].entries())
        map.set(
          (parseInt(first!, 16) + index).toString(16).padStart(4, '0'),
          Buffer.from(codes!.replaceAll(' ', ''), 'hex').swap16().toString('utf16le'),
        );
    unicode.set(name, map);
  }
  return [...objects.values()]
    .filter(({ stream }) => /\bBT\b/.test(stream))
    .map(({ stream }) => {
      let font: Map<string, string> | undefined;
      let text = '';
      for (const [, name, glyphs] of stream.matchAll(/\/(F\d+) [\d.]+ Tf|\[([^\]]*)\] TJ/g)) {
        if (name !== undefined) font = unicode.get(name);
        else
          for (const [, codes] of glyphs!.matchAll(/<([0-9a-f]+)>/g))
            for (const code of codes!.match(/.{4}/g)!) text += font?.get(code) ?? '\ufffd';
        if (name === undefined) text += '\n';
      }
      return text;
    });
}

const printer = new InvoicePrinter({ clock: systemClock });
t.teardown(() => printer[Symbol.asyncDispose]());
t.setTimeout(120_000);

void t.test('an invoice is printed in every script, the same way each time', async (t) => {
  const [first, again] = await Promise.all([printer.print(invoice()), printer.print(invoice())]);
  t.ok(Buffer.from(first).equals(Buffer.from(again)));
  t.match(Buffer.from(first).toString('latin1'), /^%PDF-1\.\d/);
  t.match(Buffer.from(first).toString('latin1'), /\/MediaBox \[0 0 595\.28 841\.89\]/);
  const pages = textOf(first);
  t.equal(pages.length, 1);
  for (const text of [
    'Plain sales',
    'Ελληνικά',
    'Русский проект',
    '中文项目',
    'VAT 19 %',
    '0.88',
    '0.123456789',
  ])
    t.ok(pages[0]!.includes(text), text);
  // Right to left: the last word is drawn first, Latin and digits within keep their order, brackets are turned.
  const drawn = pages[0]!.replaceAll('\n', '');
  t.ok(drawn.includes('ABC عرف – (2026) تالاصتالا ةكرش'), drawn);
  t.notOk(pages[0]!.includes('\ufffd'));
});

void t.test('what no font has is written as its code point', async (t) => {
  const [page] = textOf(
    await printer.print(invoice({ buyer: 'A\u202eb' }, ['Emoji 😀 here', 'ไทย', 'a\tb\u0007'])),
  );
  for (const text of ['Emoji [U+1F600] here', '[U+0E44][U+0E17][U+0E22]', 'a b[U+0007]', 'A[U+202E]b'])
    t.ok(page!.includes(text), text);
});

void t.test('a long one has several pages with heads and numbers', async (t) => {
  const names = Array.from({ length: 100 }, (_, n) => `Project ${n}`);
  const seller = { ...invoice().seller, paper: 'LETTER' as const };
  const pdf = await printer.print(invoice({ seller }, names));
  t.match(Buffer.from(pdf).toString('latin1'), /\/MediaBox \[0 0 612 792\]/);
  const pages = textOf(pdf);
  t.equal(pages.length, 4);
  for (const [index, page] of pages.entries()) {
    t.ok(page.includes('Calls of project'), 'the head of the table');
    t.ok(page.includes(`Page ${index + 1} of 4`));
  }
  for (const name of names) t.equal(pages.filter((page) => page.includes(`${name}\n`)).length, 1, name);
  t.ok(pages.at(-1)!.includes('Total (USD)'));
});

void t.test('a name without spaces is broken, and names of no length do no harm', async (t) => {
  const [page] = textOf(await printer.print(invoice({}, ['ж'.repeat(120), '', '客'.repeat(120)])));
  t.equal(page!.match(/ж/g)!.length, 120);
  t.equal(page!.match(/客/g)!.length, 120);
});

void t.test('no more wait than may', async (t) => {
  const many = await Promise.allSettled(Array.from({ length: 22 }, () => printer.print(invoice({}, []))));
  t.equal(many.filter(({ status }) => status === 'fulfilled').length, 20);
  t.match(
    many.filter(({ status }) => status === 'rejected'),
    [{ reason: { code: 'unavailable' } }, { reason: { code: 'unavailable' } }],
  );
});

void t.test('one that cannot be printed hinders no other', async (t) => {
  const broken = printer.print({ ...invoice(), lines: null as never });
  const next = printer.print(invoice({}, ['next']));
  await t.rejects(broken, /could not be printed/);
  t.ok((await next).length > 1000);
});
