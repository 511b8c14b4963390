/** What a number is announced as. `other` is none that is personal: an order, a price. */
export const CUES = ['card', 'bank', 'id', 'birth', 'secret', 'phone', 'mail', 'other'] as const;
export type Cue = (typeof CUES)[number];

/**
 * Words that announce something, by language: parts of regular expressions over lower-case words with single spaces
 * between them. Languages without a row use those of English.
 */
export interface CueWords {
  cues: Readonly<Record<Cue, string>>;
  /** Before a name, whatever its case. */
  names: string;
  /** Before a name that is written with a capital, and is known or stands alone. */
  mayName: string;
  titles: string;
  relations: string;
  /** After a name at the beginning: "Anna here". */
  hereAfter: string;
  asksName: string;
  /** Ends of what announces an address. */
  lives: string;
  asksAddress: string;
  /** Kinds of streets: words by themselves, and ends of words. */
  street: string;
  streetEnd: string;
  /** The house number follows the street. */
  numberLast: boolean;
  /** Stands between what is announced and its value. */
  links: string;
  /** Words that are no value: "my password is wrong". */
  noValue: string;
  /** Words that are no value by themselves: "my password is correct". */
  saidOfIt: string;
  fillers: string;
  ordinals: string;
  ordinalEnd: string;
  /** Within a date: "the third of May". */
  dateWords: string;
}

// prettier-ignore
export const CUE_WORDS: Readonly<Record<string, CueWords>> = {
  en: {
    cues: {
      card: "(?:credit |debit )?cards?|visa|mastercard|amex|american express|maestro|discover|card number|number on the (?:front|card)|(?:sixteen|16) digits",
      bank: "iban|bank account|account number|account|acct|routing(?: number)?|sort code|bank(?:ing)? details|swift|bic|aba|direct debit|checking|savings",
      id: "social security(?: number)?|social|ssn|national insurance(?: number)?|ni number|passport(?: number)?|tax (?:id|number)|driver'?s? licen[cs]e(?: number)?|id (?:card )?number|identity (?:card|number)|aadhaar|taxpayer|social insurance(?: number)?|driving licen[cs]e(?: number)?|nhs number|medicare(?: number)?|national id(?: number)?",
      birth: "born|birth|birthdate|dob|birth date|birthday(?:'s)?(?! party| cake| present| gift| card)",
      secret: "pin|pin code|pin number|passcode|password|passphrase|cvv2?|cvc2?|security code|(?:one time|verification|confirmation|access|login|auth) (?:code|password|pin)|otp|code is|code (?:reads|says)|what code|which code|code (?:did|do) you (?:get|receive|see|have)|unlock code|three digits|memorable word|secret",
      phone: "phone|telephone|mobile|cell|cellphone|call(?:ed)? (?:me|us|you)(?: back)? (?:on|at)|ring on|reach (?:me|us|you)(?: on| at)?|text me(?: on| at)?|contact number|my number|number to reach|fax|whatsapp|call you back|landline|dial|ring me|ring us|contact me|contact us|get (?:a )?hold of (?:me|us|you)|get in touch(?: with (?:me|us|you))?|give (?:me|us) a (?:call|ring|buzz)|voicemail|voice mail|best number|new number",
      mail: "e ?mail|mail address",
      other: "orders?|order number|booking|reservation|reference|confirmation number|tickets?|tracking|invoice|(?:the|my|your|our|this|that|last) bill|bill number|flight|train|serial|model|case|part number|customer number|member(?:ship)? number|policy|version|page|room|extension|batch|article|product",
    },
    names: "my name is|my name's|name is|name's|names is|i am called|goes by|spell my name|under the name(?: of)?|name of",
    mayName: "this is|i'm|i am|it's|it is|speaking with|spoke (?:with|to)|talk(?:ed)? to|ask for|put it under|under|it's for|call me",
    titles: "mr|mrs|ms|miss|mister|missus|dr|doctor|professor",
    relations: "husband|wife|son|daughter|brother|sister|mother|father|mom|dad|partner|boyfriend|girlfriend|friend|colleague|boss",
    hereAfter: "here|speaking|calling",
    asksName: "(?:your|the|last|first|full|sur|family) ?name|surname|who am i (?:speaking|talking)|who is (?:calling|speaking)|who's (?:calling|speaking)",
    lives: "live (?:at|on|in)|lives (?:at|on|in)|address is|address|deliver (?:it )?to|send (?:it |them )?to|ship (?:it )?to|office is (?:at|on)|located at|home is at|moved to",
    asksAddress: "(?<!e )(?<!mail )(?<!email )address|street|where (?:should|do|can) (?:we|i) (?:deliver|send|ship)|where do you live",
    street: "street|st|road|rd|avenue|ave|lane|ln|drive|dr|court|ct|boulevard|blvd|way|place|square|terrace|close|crescent|highway|parkway|row|hill|gardens?",
    streetEnd: "",
    numberLast: false,
    links: "is|it's|its|was|would|be|should|number|code|are|reads|equals|the|a|my|yes|sure|okay|ok|well|so|uh|um|that's|one|following",
    noValue: "not|no|wrong|expired|too|required|reset|changed|still|being|on|in|for|what|which|case|never|always|really|very|safe|secure|blocked|locked|needed|missing|invalid|don't|doesn't|didn't|know|forgot|forgotten|remember|lost|good|gone|already|fine|spelled|misspelled|on|here|there|with|from|and|but|or|to|of|calling|just|about|something|anything|the|a|an|your",
    saidOfIt: "correct|incorrect|right|okay|secret|known",
    fillers: "uh|um|er|hmm|and|then|yes|yeah|okay|ok|so|well|let|me|see|sure",
    ordinals: "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth thirtieth",
    ordinalEnd: "",
    dateWords: "of|the|in|on|th|st|nd|rd|and",
  },
  de: {
    cues: {
      card: "\\p{L}*karten?|\\p{L}*kartennummer|visa|mastercard|american express|amex|maestro|girocard|(?:sechzehn|16) (?:ziffern|stellen)",
      bank: "iban|\\p{L}*konto|lastschrift|einzugsermächtigung|bic|swift|kontonr|\\p{L}*kontonummer|kontodaten|bankverbindung|bankleitzahl|blz|bankdaten",
      id: "steuer id|steuernummer|steueridentifikationsnummer|steuerid|identifikationsnummer|personalausweis\\p{L}*|ausweis|ausweisnummer|reisepass\\p{L}*|passnummer|sozialversicherungs\\p{L}*|rentenversicherungs\\p{L}*|versichertennummer|krankenversicherungsnummer|führerschein\\p{L}*|ahv nummer|perso|personalnummer im pass|pass|passes|versicherungsnummer der kasse|steuernr|sv nummer",
      birth: "geboren|geburtsdatum|geburtstag|geburtsdatums|geb|geburtstags|geburtsjahr|zur welt",
      secret: "pin|pin code|geheimzahl|passwort|kennwort|prüfnummer|prüfziffer|sicherheitscode|sicherheitsnummer|bestätigungscode|zugangscode|freischaltcode|tan|code lautet|code ist|cvv|cvc|losung|kartenprüfnummer|puk|entsperrcode|einmal\\p{L}*|anmeldecode|sms code|welcher code|welchen code|drei ziffern|drei stellen",
      phone: "telefon|telefonnummer|handy|handynummer|mobil|mobilnummer|mobiltelefon|rückruf|rückrufnummer|festnetz\\p{L}*|erreichen|erreichbar unter|anrufen|meine nummer|zurückrufen|rufen sie mich|sms an|fax|faxnummer|whatsapp|rufnummer|klingeln sie|durchklingeln|anruf|melden sie sich|mailbox|kontaktnummer|meldet euch|wählen sie",
      mail: "e ?mail|mail|mailadresse|emailadresse",
      other: "bestell\\p{L}*|auftrags\\p{L}*|rechnung|rechnungs\\p{L}*|kundennummer|buchungs\\p{L}*|vorgangs\\p{L}*|sendungs\\p{L}*|ticket\\p{L}*|aktenzeichen|seriennummer|flug|zug|zimmer|modell\\p{L}*|artikel\\p{L}*|referenz\\p{L}*|reservierungs\\p{L}*|vertragsnummer|mitgliedsnummer|durchwahl|seite|fallnummer",
    },
    names: "mein name ist|name ist|name lautet|ich heiße|ich heisse|heißt|heisst|hier spricht|auf den namen|nachname ist|vorname ist|unter dem namen",
    mayName: "hier ist|ich bin|das ist|ich bin die|ich bin der|mit|spreche mit|für",
    titles: "herr|herrn|frau|doktor|dr|professor",
    relations: "mann|frau|sohn|tochter|bruder|schwester|mutter|vater|freund|freundin|kollege|kollegin|chef|chefin",
    hereAfter: "hier|am apparat",
    asksName: "(?:ihr|ihren|der|den|ihre) (?:vor|nach|familien|voller )?name|vorname|nachname|name bitte|mit wem spreche|wer spricht|wie heißen",
    lives: "wohne (?:in der|im|in|am|an der|auf der|in dem)|wohnen (?:in|am)|adresse ist(?: die| der)?|anschrift ist(?: die| der)?|adresse|anschrift|(?:schicken|senden|liefern|bringen) sie(?: es| das| bitte)*(?: in die| in den| an die| in| an| zum| zur)?|büro ist (?:am|in der|im)|das ist die",
    asksAddress: "(?<!mail )(?<!mail)adresse|anschrift|straße|wohin (?:sollen|soll|dürfen)|wo wohnen",
    street: "straße|strasse|weg|allee|platz|gasse|ring|ufer|damm|chaussee",
    streetEnd: "straße|strasse|str|weg|allee|platz|gasse|ring|ufer|damm|chaussee|steig|pfad",
    numberLast: true,
    links: "ist|lautet|heißt|wäre|war|sind|nummer|code|die|das|der|ja|also|gut|äh|ähm|dann|meine|mein|bitte|zwar",
    noValue: "nicht|nein|kein|keine|falsch|abgelaufen|gesperrt|zu|auf|in|für|welche|welches|noch|schon|ungültig|weiß|vergessen|verloren|wie|was|ein|eine|und|oder|aber|hier|dort|steht|auch|leider|immer|nie|sehr|nur|geändert|unbekannt|weg|wieder|gut|okay|mit|von|aus|das|der|die|es|alles|bei",
    saidOfIt: "richtig|korrekt|bekannt|geheim",
    fillers: "äh|ähm|hm|und|dann|ja|also|gut|moment|okay|danke|eh",
    ordinals: "erste erster ersten dritte dritter dritten siebte siebter siebten achte achter achten",
    ordinalEnd: "sten|ster|ste|ten|ter|te",
    dateWords: "der|den|am|im|und|jahr|jahre",
  },
};

/** Further languages: what numbers are announced with. For names and addresses they have no words. */
// prettier-ignore
export const MORE_CUES: Readonly<Record<string, Partial<Record<Cue, string>>>> = {
  es: {
    card: 'tarjeta|número de tarjeta', bank: 'cuenta|número de cuenta|iban', id: 'dni|nie|pasaporte|seguro social|seguridad social|curp|cédula',
    birth: 'nací|nacimiento|nacido|nacida|cumpleaños', secret: 'pin|contraseña|clave|código de seguridad|cvv|código es', phone: 'teléfono|móvil|celular|llámeme al|mi número',
    mail: 'correo|e ?mail', other: 'pedido|reserva|factura|vuelo|referencia|seguimiento|habitación',
  },
  fr: {
    card: 'carte|carte bancaire|numéro de carte', bank: 'iban|compte|numéro de compte|rib', id: 'sécurité sociale|passeport|numéro fiscal|carte d identité',
    birth: 'né|née|naissance|anniversaire', secret: 'code secret|mot de passe|code pin|pin|cryptogramme|code de sécurité|code est', phone: 'téléphone|portable|joindre au|rappeler au|rappelez moi|mon numéro',
    mail: 'mail|e ?mail|courriel', other: 'commande|réservation|facture|vol|référence|suivi|chambre|dossier',
  },
  it: {
    card: 'carta|carta di credito|numero di carta', bank: 'iban|conto|numero di conto', id: 'codice fiscale|passaporto|carta d identità', birth: 'nato|nata|nascita|compleanno',
    secret: 'pin|password|codice di sicurezza|cvv|codice è', phone: 'telefono|cellulare|mi chiami al|mio numero', mail: 'mail|e ?mail', other: 'ordine|prenotazione|fattura|volo|riferimento|camera',
  },
  pt: {
    card: 'cartão|número do cartão', bank: 'iban|conta|número da conta|agência', id: 'cpf|passaporte|nif|rg', birth: 'nasci|nascimento|nascido|nascida|aniversário',
    secret: 'pin|senha|código de segurança|cvv|palavra passe|código é', phone: 'telefone|celular|telemóvel|meu número|ligue para', mail: 'e ?mail', other: 'pedido|reserva|fatura|voo|referência|quarto',
  },
  nl: {
    card: 'kaart|kaartnummer|creditcard|creditcardnummer', bank: 'iban|rekening|rekeningnummer', id: 'bsn|burgerservicenummer|paspoort|paspoortnummer', birth: 'geboren|geboortedatum|verjaardag',
    secret: 'pincode|pin|wachtwoord|beveiligingscode|cvc|code is', phone: 'telefoon|telefoonnummer|mobiel|bereiken op|mijn nummer|06 nummer', mail: 'e ?mail|mail', other: 'bestelling|bestelnummer|boeking|factuur|vlucht|referentie|kamer',
  },
};
