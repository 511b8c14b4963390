import PDFDocument from 'pdfkit';
import { minorDigits } from './invoice-totals.ts';
import { TextPainter } from './invoice-text.ts';
import type { InvoiceLine, InvoiceSeller } from './invoice-model.ts';

/** What is printed of an invoice. It does not change with what becomes of the invoice. */
export interface PrintedInvoice {
  number: string;
  org_id: string;
  buyer: string;
  seller: InvoiceSeller;
  period_start: string;
  period_end: string;
  currency: string;
  lines: InvoiceLine[];
  subtotal_nano: bigint;
  tax_nano: bigint;
  total_nano: bigint;
  issued_at: Date;
  due_at: Date | null;
}

const MARGIN = 50;
const ROW_HEIGHT = 18;
const TEXT = { size: 9 };
const SMALL = { size: 8, color: '#555555' };
const BOLD = { size: 9, bold: true };
/** Behind the rows: totals, and the page's foot. */
const FOOT_HEIGHT = 40;
const TOTALS_HEIGHT = 4 * ROW_HEIGHT;
const NANO = 1_000_000_000n;

/** The invoice as a PDF: the same bytes for the same invoice. */
export async function printInvoice(invoice: PrintedInvoice): Promise<Buffer> {
  const document = new PDFDocument({
    size: invoice.seller.paper,
    margin: 0,
    bufferPages: true,
    lang: 'en',
    // Standard fonts are not used: without this one of them would be read.
    font: null as unknown as string,
    info: {
      Title: `Invoice ${invoice.number}`,
      Author: invoice.seller.name,
      CreationDate: invoice.issued_at,
      ModDate: invoice.issued_at,
    },
  });
  const parts: Buffer[] = [];
  document.on('data', (part: Buffer) => parts.push(part));
  const ended = new Promise<void>((resolve, reject) => {
    document.on('end', resolve);
    document.on('error', reject);
  });
  new InvoicePrint(document, invoice).print();
  document.end();
  await ended;
  return Buffer.concat(parts);
}

/** One document while it is drawn. */
class InvoicePrint {
  readonly #document: InstanceType<typeof PDFDocument>;
  readonly #invoice: PrintedInvoice;
  readonly #text: TextPainter;
  readonly #right: number;
  readonly #bottom: number;
  #y = MARGIN;

  constructor(document: InstanceType<typeof PDFDocument>, invoice: PrintedInvoice) {
    this.#document = document;
    this.#invoice = invoice;
    this.#text = new TextPainter(document);
    this.#right = document.page.width - MARGIN;
    this.#bottom = document.page.height - MARGIN - FOOT_HEIGHT;
  }

  print(): void {
    this.#head();
    this.#columns();
    for (const line of this.#invoice.lines) this.#row(line);
    this.#totals();
    this.#feet();
  }

  /** Who sends it to whom, and what it is. */
  #head(): void {
    const { seller, buyer, org_id, number, issued_at, due_at, period_start, period_end } = this.#invoice;
    const half = (this.#right - MARGIN) / 2 - 10;
    const top = this.#y + 14;
    this.#text.draw('Invoice', this.#right, top, { size: 20, bold: true, align: 'end' });
    let y = top;
    for (const line of this.#text.wrap(seller.name, half, { size: 12 })) {
      this.#text.draw(line, MARGIN, y, { size: 12 });
      y += 16;
    }
    const address = [...seller.address, ...(seller.tax_id === null ? [] : [`Tax id ${seller.tax_id}`])];
    for (const line of address.flatMap((one) => this.#text.wrap(one, half, TEXT))) {
      this.#text.draw(line, MARGIN, y, TEXT);
      y += 13;
    }
    let right = top + 22;
    for (const [label, value] of [
      ['Number', number],
      ['Date', dayOf(issued_at)],
      ...(due_at ? [['Due', dayOf(due_at)]] : []),
      ['Period', `${period_start} – ${period_end}`],
    ] as [string, string][]) {
      this.#text.draw(label, this.#right - 150, right, SMALL);
      this.#text.draw(value, this.#right, right, { ...TEXT, align: 'end' });
      right += 14;
    }
    y = Math.max(y, right) + 16;
    this.#text.draw('For', MARGIN, y, SMALL);
    y += 15;
    for (const line of this.#text.wrap(buyer, this.#right - MARGIN, { size: 12 })) {
      this.#text.draw(line, MARGIN, y, { size: 12 });
      y += 16;
    }
    this.#text.draw(org_id, MARGIN, y, SMALL);
    this.#y = y + 30;
  }

  get #ends(): { sessions: number; minutes: number } {
    return { sessions: this.#right - 190, minutes: this.#right - 110 };
  }

  /** The heads of the columns, on every page. */
  #columns(): void {
    this.#text.draw('Calls of project', MARGIN, this.#y, BOLD);
    this.#text.draw('Sessions', this.#ends.sessions, this.#y, { ...BOLD, align: 'end' });
    this.#text.draw('Minutes', this.#ends.minutes, this.#y, { ...BOLD, align: 'end' });
    this.#text.draw(`Amount (${this.#invoice.currency})`, this.#right, this.#y, { ...BOLD, align: 'end' });
    this.#rule(this.#y + 6);
    this.#y += ROW_HEIGHT + 4;
  }

  #row(line: InvoiceLine): void {
    const width = this.#ends.sessions - 60 - MARGIN;
    const names = this.#text.wrap(line.name, width, TEXT);
    this.#room(names.length * ROW_HEIGHT);
    if (line.project_id !== null) {
      this.#text.draw(String(line.sessions), this.#ends.sessions, this.#y, { ...TEXT, align: 'end' });
      const minutes = (Number(line.connected_ms) / 60_000).toFixed(2);
      this.#text.draw(minutes, this.#ends.minutes, this.#y, { ...TEXT, align: 'end' });
    }
    this.#text.draw(exactly(BigInt(line.amount_nano), 2), this.#right, this.#y, { ...TEXT, align: 'end' });
    for (const name of names) {
      this.#text.draw(name, MARGIN, this.#y, TEXT);
      this.#y += ROW_HEIGHT;
    }
  }

  #totals(): void {
    const { seller, currency, subtotal_nano, tax_nano, total_nano } = this.#invoice;
    this.#room(TOTALS_HEIGHT);
    this.#rule(this.#y - 11);
    this.#y += 4;
    const digits = minorDigits(currency);
    for (const [label, nano, options] of [
      ['Subtotal', subtotal_nano, TEXT],
      [`${seller.tax_name} ${seller.tax_rate / 10_000} %`, tax_nano, TEXT],
      [`Total (${currency})`, total_nano, { size: 11, bold: true }],
    ] as const) {
      this.#text.draw(label, this.#ends.minutes, this.#y, { ...options, align: 'end' });
      this.#text.draw(exactly(BigInt(nano), digits), this.#right, this.#y, { ...options, align: 'end' });
      this.#y += ROW_HEIGHT;
    }
  }

  /** What is at the foot of each page, when it is known how many there are. */
  #feet(): void {
    const { count } = this.#document.bufferedPageRange();
    const y = this.#document.page.height - MARGIN;
    for (let page = 0; page < count; page++) {
      this.#document.switchToPage(page);
      this.#rule(y - 14);
      this.#text.draw(`${this.#invoice.seller.name} · ${this.#invoice.number}`, MARGIN, y, SMALL);
      this.#text.draw(`Page ${page + 1} of ${count}`, this.#right, y, { ...SMALL, align: 'end' });
    }
  }

  /** Goes on on a new page where there is not so much room left. */
  #room(height: number): void {
    if (this.#y + height <= this.#bottom) return;
    this.#document.addPage();
    this.#y = MARGIN + 14;
    this.#columns();
  }

  #rule(y: number): void {
    this.#document.moveTo(MARGIN, y).lineTo(this.#right, y).lineWidth(0.5).strokeColor('#999999').stroke();
  }
}

/** All decimals that are not zero, and at least `least`. */
function exactly(nano: bigint, least: number): string {
  const decimals = String(nano % NANO).padStart(9, '0');
  const kept = decimals.replace(/0+$/, '').padEnd(least, '0');
  return `${nano / NANO}${kept === '' ? '' : `.${kept}`}`;
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}
