/** What an agent says while a caller speaks, to show that it listens: assent to nothing, and no word that ends a turn. */
const LISTENING: Readonly<Record<string, readonly string[]>> = {
  en: ['Mhm.', 'I see.', 'Right.', 'Okay.'],
  de: ['Mhm.', 'Verstehe.', 'Ja.', 'Okay.'],
  fr: ['Mhm.', 'Je vois.', "D'accord.", 'Oui.'],
  es: ['Ajá.', 'Entiendo.', 'Ya.', 'Vale.'],
  it: ['Mhm.', 'Capisco.', 'Sì.', 'Certo.'],
  pt: ['Mhm.', 'Entendo.', 'Sim.', 'Certo.'],
  nl: ['Mhm.', 'Ik begrijp het.', 'Ja.', 'Oké.'],
  pl: ['Mhm.', 'Rozumiem.', 'Tak.', 'Dobrze.'],
  tr: ['Hı hı.', 'Anlıyorum.', 'Evet.', 'Tamam.'],
  hi: ['जी।', 'अच्छा।', 'हाँ जी।', 'ठीक है।'],
  ja: ['はい。', 'ええ。', 'なるほど。', 'そうですか。'],
  zh: ['嗯。', '明白。', '好的。', '是的。'],
};

/** The phrases of a BCP 47 tag's language; those of English where there are none. */
export function listeningPhrases(language: string): readonly string[] {
  return LISTENING[language.split('-', 1)[0]!.toLowerCase()] ?? LISTENING['en']!;
}

export const LANGUAGES_WITH_PHRASES = Object.keys(LISTENING);
