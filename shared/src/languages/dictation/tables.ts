import { de } from './de.ts';
import { en } from './en.ts';
import { es } from './es.ts';
import { fr } from './fr.ts';
import { hi } from './hi.ts';
import { it } from './it.ts';
import { ja } from './ja.ts';
import { nl } from './nl.ts';
import { pl } from './pl.ts';
import { pt } from './pt.ts';
import type { DictationTable } from './table.ts';
import { tr } from './tr.ts';
import { zh } from './zh.ts';

const TABLES: Record<string, DictationTable> = { de, en, es, fr, hi, it, ja, nl, pl, pt, tr, zh };

/** The table of a BCP 47 tag's language; that of English where there is none. */
export function tableOf(language: string): DictationTable {
  return TABLES[language.split('-', 1)[0]!.toLowerCase()] ?? en;
}
