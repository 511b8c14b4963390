import { findPersonalData, type SpokenTurn, type Stretch } from './find-personal-data.ts';
import { KnownValues } from './known-values.ts';
import { LONG_NUMBER_KINDS, NUMBER_KINDS, type FoundKind, type RedactionKind } from './kinds.ts';

/** What is said over so many turns is read together. */
const WINDOW = 12;
const MOST_NAMES = 64;
const SHORTEST_NAME = 3;
const NO_NAME_WORDS = new Set(['von', 'van', 'der', 'den', 'and', 'und', 'the']);
/** Stands for a number of which it is not known yet what it is. */
const OPEN = 'number';
/** Written by a program, in JSON. */
const JSON_TEXT = /^\s*[[{]/;

interface Mask extends Pick<Stretch, 'start' | 'end'> {
  name: FoundKind;
}

interface KnownTurn<Id> extends SpokenTurn {
  id: Id;
  masks: Mask[];
  masked: string;
}

/** A turn whose masked text is new, or has changed. */
export interface MaskedTurn<Id> {
  id: Id;
  text: string;
  /** Something in it is masked, and will stay so. */
  redacted: boolean;
}

/**
 * Masks personal data in a conversation, turn by turn: "[card_number]" in place of the number. A turn may change with a
 * later one that completes it. A number at the end of the last turn is masked until it is known what it is, so that
 * nothing is shown that would be masked afterwards.
 */
export class ConversationRedaction<Id = number> {
  readonly #kinds: Set<RedactionKind>;
  readonly #language: string;
  readonly #values = new KnownValues();
  readonly #names = new Set<string>();
  #turns: KnownTurn<Id>[] = [];
  #open: Id[] = [];

  /** @param options.names names that the call knows: each of their words is masked */
  constructor(options: { kinds: Iterable<RedactionKind>; language: string; names?: Iterable<string> }) {
    this.#kinds = new Set(options.kinds);
    this.#language = options.language;
    for (const name of options.names ?? []) this.#addName(name);
  }

  /** Whether anything is masked at all. */
  get active(): boolean {
    return this.#kinds.size > 0;
  }

  has(kind: RedactionKind): boolean {
    return this.#kinds.has(kind);
  }

  /** Whether keys that are pressed may be something that is masked. */
  get masksNumbers(): boolean {
    return [...this.#kinds].some((kind) => NUMBER_KINDS.has(kind));
  }

  /** Masks further kinds from now on. */
  widen(kinds: Iterable<RedactionKind>): void {
    for (const kind of kinds) this.#kinds.add(kind);
  }

  /**
   * Takes a turn, or another text of one that is known.
   * @returns those whose masked text is another than before, the new one last
   */
  turn(id: Id, turn: SpokenTurn): MaskedTurn<Id>[] {
    const known = this.#turns.find((other) => other.id === id);
    const added: KnownTurn<Id> = known ?? { ...turn, id, masks: [], masked: '' };
    if (known) {
      // Its places mean nothing in another text.
      known.masks = [];
      known.text = turn.text;
    } else this.#turns.push(added);
    if (this.#turns.length > WINDOW) this.#turns = this.#turns.slice(-WINDOW);
    return this.#look({ settled: false, changed: added });
  }

  /** Nothing more is said: what is still open is no number of anybody's. @returns turns that have changed */
  settle(): MaskedTurn<Id>[] {
    return this.#look({ settled: true });
  }

  /** Turns that end, or are, a number of which it is not known yet what it is; the oldest first. */
  get open(): readonly Id[] {
    return this.#open;
  }

  /** Masks a turn that may not be over, behind those that are known. */
  peek(turn: SpokenTurn): string {
    return this.active ? this.texts([...this.#turns, turn]).at(-1)! : turn.text;
  }

  /** Masks a text that is no turn. A number at its end is masked if it could be the beginning of something. */
  text(text: string): string {
    if (!this.active || text === '') return text;
    const { findings, open } = findPersonalData([{ role: 'caller', text }], {
      ...this.#options(),
      announcedOnly: JSON_TEXT.test(text),
    });
    const masks: Mask[] = findings
      .filter(({ kind }) => this.#masks(kind))
      .map(({ start, end, kind }) => ({ start, end, name: kind }));
    if (this.masksNumbers)
      addMasks(
        masks,
        open.map(({ start, end }) => ({ start, end, name: OPEN })),
      );
    return maskedText(text, masks);
  }

  /**
   * Masks several texts that belong to one conversation, in order, as they stand now.
   * @returns the masked texts
   */
  texts(turns: readonly SpokenTurn[]): string[] {
    const { findings, open } = findPersonalData(turns, this.#options());
    return turns.map(({ text }, at) => {
      const masks: Mask[] = findings
        .filter(({ turn, kind }) => turn === at && this.#masks(kind))
        .map(({ start, end, kind }) => ({ start, end, name: kind }));
      if (this.masksNumbers)
        addMasks(
          masks,
          open.filter(({ turn }) => turn === at).map(({ start, end }) => ({ start, end, name: OPEN })),
        );
      return maskedText(text, masks);
    });
  }

  #masks(kind: FoundKind): boolean {
    if (kind !== 'number') return this.#kinds.has(kind);
    return [...LONG_NUMBER_KINDS].some((one) => this.#kinds.has(one));
  }

  #options() {
    return { language: this.#language, names: this.#names, values: this.#values };
  }

  #look({ settled, changed }: { settled: boolean; changed?: KnownTurn<Id> }): MaskedTurn<Id>[] {
    const turns = this.#turns;
    let { findings, open } = findPersonalData(turns, this.#options());
    if (this.#learn(findings)) ({ findings, open } = findPersonalData(turns, this.#options()));
    for (const { turn, start, end, kind } of findings)
      if (this.#masks(kind) && (settled || kind !== OPEN || !isOpen(open, turn, end)))
        addMasks(turns[turn]!.masks, [{ start, end, name: kind }]);
    this.#open = settled || !this.masksNumbers ? [] : open.map(({ turn }) => turns[turn]!.id);
    const results: MaskedTurn<Id>[] = [];
    for (const [at, turn] of turns.entries()) {
      const masks = [...turn.masks];
      if (!settled && this.masksNumbers)
        addMasks(
          masks,
          open.filter((one) => one.turn === at).map(({ start, end }) => ({ start, end, name: OPEN })),
        );
      const text = maskedText(turn.text, masks);
      if (text === turn.masked && turn !== changed) continue;
      turn.masked = text;
      results.push({ id: turn.id, text, redacted: turn.masks.length > 0 });
    }
    return results;
  }

  /** Names that were found are masked wherever they are said. @returns whether there are new ones */
  #learn(findings: readonly { turn: number; start: number; end: number; kind: FoundKind }[]): boolean {
    if (!this.#kinds.has('person_name')) return false;
    const before = this.#names.size;
    for (const { turn, start, end, kind } of findings)
      if (kind === 'person_name') this.#addName(this.#turns[turn]!.text.slice(start, end));
    return this.#names.size > before;
  }

  #addName(name: string): void {
    for (const word of name.toLowerCase().split(/[^\p{L}\p{M}'’]+/u))
      if (word.length >= SHORTEST_NAME && !NO_NAME_WORDS.has(word) && this.#names.size < MOST_NAMES)
        this.#names.add(word);
  }
}

/** The next turn may tell what a number is. */
const isOpen = (open: readonly Stretch[], turn: number, end: number) =>
  open.some((one) => one.turn === turn && one.end >= end);

/** Adds masks where there are none yet. */
function addMasks(masks: Mask[], more: readonly Mask[]): void {
  for (const mask of more) {
    const same = masks.filter((other) => other.start < mask.end && mask.start < other.end);
    if (same.length === 0) masks.push(mask);
    else if (same.length === 1 && same[0]!.name === mask.name) {
      same[0]!.start = Math.min(same[0]!.start, mask.start);
      same[0]!.end = Math.max(same[0]!.end, mask.end);
    } else {
      // Parts of it are something else already: what is left between them is masked too.
      const first = same[0]!;
      const start = Math.min(mask.start, ...same.map((other) => other.start));
      const end = Math.max(mask.end, ...same.map((other) => other.end));
      masks.splice(0, masks.length, ...masks.filter((other) => !same.includes(other)), {
        // What was not known is known now.
        name: first.name === OPEN ? mask.name : first.name,
        start,
        end,
      });
    }
  }
}

function maskedText(text: string, masks: readonly Mask[]): string {
  if (masks.length === 0) return text;
  let masked = '';
  let at = 0;
  for (const { start, end, name } of masks.toSorted((a, b) => a.start - b.start)) {
    masked += `${text.slice(at, start)}[${name}]`;
    at = end;
  }
  return masked + text.slice(at);
}
