/** What the emulated model says where neither prompt nor tool has the words. `{…}` is filled in. */
export interface Phrases {
  moment: string;
  done: string;
  failed: string;
  ask: string;
  stillThere: string;
  goodbye: string;
  keys: string;
  /** No fact and no tool fits: it says what it is, and what it can do. */
  cannot: string;
  /** Follows `cannot` when there are tools. */
  tools: string;
}

/** By the English name of a language, which is how prompts name it. */
export const PHRASES: Readonly<Record<string, Phrases>> = {
  English: {
    moment: 'One moment, please.',
    done: 'That is done.',
    failed: 'I am sorry, that did not work.',
    ask: 'Please tell me: {what}?',
    stillThere: 'Are you still there?',
    goodbye: 'Thank you for calling. Goodbye.',
    keys: 'You pressed {keys}.',
    cannot:
      'I am only an emulated language model: I repeat what my instructions say, and found nothing on this.',
    tools: 'What I can do: {what}',
  },
  German: {
    moment: 'Einen Moment, bitte.',
    done: 'Das ist erledigt.',
    failed: 'Es tut mir leid, das hat nicht geklappt.',
    ask: 'Bitte sagen Sie mir: {what}?',
    stillThere: 'Sind Sie noch da?',
    goodbye: 'Vielen Dank für Ihren Anruf. Auf Wiederhören.',
    keys: 'Sie haben {keys} gedrückt.',
    cannot:
      'Ich bin nur ein emuliertes Sprachmodell: Ich wiederhole meine Anweisungen, und dazu steht dort nichts.',
    tools: 'Was ich kann: {what}',
  },
  French: {
    moment: 'Un instant, je vous prie.',
    done: "C'est fait.",
    failed: "Je suis désolé, cela n'a pas marché.",
    ask: 'Dites-moi, je vous prie : {what} ?',
    stillThere: 'Vous êtes toujours là ?',
    goodbye: 'Merci de votre appel. Au revoir.',
    keys: 'Vous avez appuyé sur {keys}.',
    cannot:
      "Je ne suis qu'un modèle de langue émulé : je répète mes instructions, et je n'y trouve rien sur cela.",
    tools: 'Ce que je sais faire : {what}',
  },
  Spanish: {
    moment: 'Un momento, por favor.',
    done: 'Ya está hecho.',
    failed: 'Lo siento, no ha funcionado.',
    ask: 'Dígame, por favor: ¿{what}?',
    stillThere: '¿Sigue ahí?',
    goodbye: 'Gracias por su llamada. Adiós.',
    keys: 'Ha pulsado {keys}.',
    cannot: 'Solo soy un modelo de lenguaje emulado: repito mis instrucciones, y sobre esto no dicen nada.',
    tools: 'Lo que sé hacer: {what}',
  },
  Italian: {
    moment: 'Un momento, per favore.',
    done: 'Fatto.',
    failed: 'Mi dispiace, non ha funzionato.',
    ask: 'Mi dica, per favore: {what}?',
    stillThere: 'È ancora lì?',
    goodbye: 'Grazie per la chiamata. Arrivederci.',
    keys: 'Ha premuto {keys}.',
    cannot:
      'Sono solo un modello linguistico emulato: ripeto le mie istruzioni, e su questo non dicono nulla.',
    tools: 'Che cosa so fare: {what}',
  },
  Portuguese: {
    moment: 'Um momento, por favor.',
    done: 'Está feito.',
    failed: 'Lamento, não funcionou.',
    ask: 'Diga-me, por favor: {what}?',
    stillThere: 'Ainda está aí?',
    goodbye: 'Obrigado pela chamada. Adeus.',
    keys: 'Premiu {keys}.',
    cannot:
      'Sou apenas um modelo de linguagem emulado: repito as minhas instruções, e não dizem nada sobre isto.',
    tools: 'O que sei fazer: {what}',
  },
  Dutch: {
    moment: 'Een ogenblik, alstublieft.',
    done: 'Dat is gedaan.',
    failed: 'Het spijt me, dat is niet gelukt.',
    ask: 'Zegt u mij alstublieft: {what}?',
    stillThere: 'Bent u er nog?',
    goodbye: 'Dank u voor uw telefoontje. Tot ziens.',
    keys: 'U hebt {keys} ingedrukt.',
    cannot:
      'Ik ben maar een geëmuleerd taalmodel: ik herhaal mijn instructies, en daarover staat er niets in.',
    tools: 'Wat ik kan: {what}',
  },
};

/** A caller who takes leave, in the languages above. */
export const GOODBYE =
  /\b(good ?bye|bye|auf wiedersehen|auf wiederhören|tschüss|au revoir|adiós|hasta luego|arrivederci|ciao|adeus|tchau|tot ziens)(?![\p{L}\p{N}])/iu;

/** Words that tell nothing of what a sentence is about, of the languages above. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about after again all also am an and any are as at be been but by can could did do does for from get give go had has have ' +
    'he hello her hi him his how i if in into is it its just know let like may me more much my no not now of off on one only or our ' +
    'out please say she so some such tell than thank thanks that the their them then there these they this those to too up us very ' +
    'want was we well were what when where which who why will with would yes you your yours caller callers ' +
    'friendly brief answer telephone speak ' +
    'ich sie er es wir ihr der die das ein eine einen und oder ist sind war haben hat hätte möchte mit von zu für auf bitte danke wie was wann wo ja nein ' +
    'je tu il elle nous vous le la les un une des et ou est sont avoir avec de du pour sur merci comment quand oui non ' +
    'yo el los las una uno y es son tener con por para cómo cuándo dónde gracias sí ' +
    'io lui lei noi il lo gli e è sono con per come quando dove grazie ' +
    'eu ele ela nós o os as um uma e é são com por para como quando onde obrigado sim não ' +
    'ik jij hij zij wij het een en of zijn met van voor op hoe wat wanneer waar dank ja nee'
  ).split(' '),
);

/** Different words for one thing a caller may ask. The first of each stands for all. */
export const SYNONYMS: readonly (readonly string[])[] = [
  [
    'open',
    'opens',
    'opening',
    'close',
    'closes',
    'closed',
    'closing',
    'hours',
    'until',
    'öffnen',
    'geöffnet',
    'offen',
    'schließen',
    'ouvert',
    'ouvrez',
    'fermez',
    'abierto',
    'abren',
    'cierran',
    'aperto',
    'aberto',
  ],
  [
    'cost',
    'costs',
    'price',
    'prices',
    'euro',
    'euros',
    'dollar',
    'dollars',
    'cents',
    'kostet',
    'kosten',
    'preis',
    'coûte',
    'prix',
    'cuesta',
    'precio',
    'costa',
    'prezzo',
    'preço',
  ],
  [
    'address',
    'street',
    'where',
    'located',
    'find',
    'adresse',
    'straße',
    'rue',
    'dirección',
    'calle',
    'indirizzo',
    'via',
  ],
  ['sell', 'sells', 'offer', 'offers', 'have', 'menu', 'verkaufen', 'angebot', 'vendez', 'venden'],
  ['deliver', 'delivers', 'delivery', 'deliveries', 'liefern', 'lieferung', 'livrez', 'livraison', 'entrega'],
  ['pay', 'paying', 'card', 'cards', 'cash', 'zahlen', 'karte', 'payer', 'carte', 'pagar', 'tarjeta'],
];

/** How numbers are said, as far as a telephone order needs them. */
export const NUMBERS: Readonly<Record<string, number>> = Object.fromEntries(
  [
    'zero null zéro cero',
    'one eins ein eine einen un une uno una',
    'two zwei deux dos due dois duas twee',
    'three drei trois tres tre três drie',
    'four vier quatre cuatro quattro quatro',
    'five fünf cinq cinco cinque vijf',
    'six sechs seis sei zes',
    'seven sieben sept siete sette sete zeven',
    'eight acht huit ocho otto oito',
    'nine neun neuf nueve nove negen',
    'ten zehn dix diez dieci dez tien',
    'eleven elf onze once undici',
    'twelve zwölf douze doce dodici doze twaalf',
    'thirteen dreizehn',
    'fourteen vierzehn',
    'fifteen fünfzehn quinze quince',
    'sixteen sechzehn',
    'seventeen siebzehn',
    'eighteen achtzehn',
    'nineteen neunzehn',
    'twenty zwanzig vingt veinte venti vinte twintig',
  ].flatMap((words, value) => words.split(' ').map((word) => [word, value])),
);
