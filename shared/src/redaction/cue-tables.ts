/** What a number is announced as. `other` is none that is personal: an order, a price. */
export const CUES = ['card', 'bank', 'id', 'birth', 'secret', 'phone', 'mail', 'other'] as const;
export type Cue = (typeof CUES)[number];

/**
 * Words that announce something, by language: parts of regular expressions over lower-case words with single spaces
 * between them. Languages without a row use those of English.
 */
export interface CueWords {
  cues: Readonly<Record<Cue, string>>;
  /** Right behind a number: what it counts. */
  counted: string;
  /** Around a date: what it is the date of, if not of a birth. */
  events: string;
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
      card: "(?:credit |debit |bank )?cards?|visa|master ?card|amex|american express|maestro|discover|diners|plastic|numbers? on the (?:front|card)|(?:sixteen|16) digits?|charge(?:d)? (?:it |that |this |them |everything |the \\p{L}+ )?(?:to|on|onto)|bill (?:it|that|this|them|everything|me) (?:to|on)",
      bank: "iban|bank(?:ing)?|accounts?|acct|routing|sort code|transit|swift|bic|aba|bsb|direct debit|direct deposit|checking|savings|wire (?:it|them|that|the \\p{L}+)|payouts?",
      id: "social(?: security)?(?: numbers?)?|ssn|national insurance|ni number|nino|passports?|tax(?:payer)?(?: (?:id|identification|number|file|reference))*|utr|itin|driv(?:er|ers|er's|ing) licen[cs]es?|licen[cs]es?(?: number)?|id(?: card)?(?: number)?|identity|identification|aadhaar|social insurance|nhs|medicare|medicaid|national id|green card|health card|health insurance|insurance number|citizenship|residence permit|resident permit",
      birth: "born|birth(?!day)\\p{L}*|birthday(?:'s)?(?! party| cake| present| gift| card)|bday|b day|dob|d o b|how old|turned|c(?:a|o)me into (?:the|this) world",
      secret: "pins?|pin (?:code|number)|pass ?(?:codes?|words?|phrases?|keys?)|cvv2?|cvc2?|csc|security (?:codes?|answers?|numbers?|words?|questions?)|codes?|code ?words?|otp|secrets?|memorable \\p{L}+|(?:last )?(?:three|3|four|4) digits? on|three digits?|mother's maiden name|login|log in|credentials|(?:api|access|secret) keys?|tokens?",
      phone: "phone\\p{L}*|area codes?|telephone\\p{L}*|mobiles?|cell|cells|cell ?phones?|call(?:ed|ing)? (?:me|us|you|him|her|them|my \\p{L}+)(?: back)?|call back|ring (?:on|me|us|him|her|them|my \\p{L}+)|reach(?:ed)? (?:me|us|you|him|her|them|my \\p{L}+)|reachable|be reached|text (?:me|us|him|her|to)|sms|contact (?:me|us|him|her|number)|(?:my|our|his|her|their|\\p{L}+'s|new|old|best|work|home|house|office|emergency|daytime|evening|private|personal|business|direct|callback|other|second) numbers?|numbers? (?:to reach|to call|for me|i can)|fax|whats ?app|signal|telegram|landline|dial|voice ?mail|hotline|get (?:a )?hold of|get in touch|give (?:me|us|him|her|them|my \\p{L}+) a (?:call|ring|buzz|shout)|picks? up|which numbers?|what numbers?|shoot me a text|hit me up",
      mail: "e ?mails?|mail address|inbox",
      other: "(?!(?:my|your|his|her|our|their|its|the|a|an|this|that|which|what|whose|whole|full|long|right|wrong|best|good|better|new|newer|old|other|first|second|third|same|next|correct|direct|only|main|any|and|or|of|is|are|was|at|on|for|with|under|to|another|complete|entire|actual|current|usual|following|present|different|big|one|\\p{L}+'s|yes|okay|well|so|has|have|had|by|as|in|carries|bears|shows|says|reads|gets|per|via|please|just|also|then|about|from|now|because|it|i|you|he|she|we|they|me|us|him|them|whatever|no|such|every|each|some|shorter|longer|credit|debit|card|visa|mastercard|amex|account|bank|iban|routing|sort|swift|transit|savings|checking|phone|telephone|mobile|cell|cellphone|contact|callback|call back|back|home|house|work|office|emergency|daytime|evening|private|personal|business|fax|whatsapp|landline|line|hotline|mother|father|wife|husband|passport|licen[cs]e|driving|insurance|security|social|tax|taxpayer|id|identity|identification|ident|nhs|ni|medicare|national|citizen|resident|pin|birth|access|secret|cvc|cvv|verification|pass) )\\p{L}+ (?:numbers?|ids?|reference|ref)|confirmation number|(?:the|my|your|our|this|that|last) bill|bill number|barcodes?|(?:license|licence|number) plates?|zip(?: codes?)?|postal codes?|post ?codes?|country codes?|ip address|error codes?|status code|dress codes?|qr codes?|bar codes?|source codes?|promo\\p{L}*(?: codes?)?|discount(?: codes?)?|voucher(?: codes?)?|coupon(?: codes?)?|gift(?: codes?| card(?: numbers?)?)?|colou?r codes?|product codes?|item codes?|part codes?|model codes?|booking codes?|reference codes?|article codes?|tax codes?|code of|(?:license|licence|product|serial) keys?|orders?|ordered|purchas\\p{L}*|po|bookings?|booked|reservations?|reference|ref|tickets?|tracking|parcels?|packages?|shipments?|consignment|invoices?|receipts?|quotes?|quotation|estimate|flights?|trains?|bus|coach|serial|models?|cases?|claims?|policy|policies|contracts?|membership|subscription|loyalty|version|build|release|firmware|pages?|rooms?|gates?|platform|seats?|extension|ext|batch|lots?|articles?|items?|products?|parts?|sku|isbn|ean|upc|imei|vin|registration|meters?|reading|odometer|mileage|latitude|longitude|coordinates|gps|lottery|lotto|raffle|scor\\p{L}*|population|budget|revenue|turnover|profit|sales|costs?|prices?|priced|paid|totals?|sums?|amounts?|salary|worth|ip|port|errors?|fault|status|files?|docket|forms?|paragraph|sections?|chapters?|vehicles?|containers?|stock|inventory|warehouse|asset|machine|resolution|screen|rma|returns?|complaints?|requests?|incidents?|issues?|bugs?|counter|weigh\\p{L}*|height|distance|jobs?|repairs?|projects?|offers?|proposals?|applications?|transactions?|warrant(?:y|ies)|guarantee|reports?|logs?|entry|software|router|tires?|tyres?|engine|size|capacity",
    },
    counted: "people|persons?|visitors|guests|users|views|followers|steps|inhabitants|residents|customers|members|units|pieces|copies|items|kilomet(?:er|re)s?|km|miles|met(?:er|re)s?|square|kilos?|kg|grams?|tons?|tonnes?|lit(?:er|re)s?|bytes|megabytes|gigabytes|pixels?|points|votes|times|shares|employees|students|calls|words|lines|rows|records|seats|pounds|percent|hours|days|years|orders|tickets|parcels|is (?:my|the|our|your) (?:order|booking|invoice|ticket|tracking|reference|case|serial)",
    events: "opened|founded|established|built|since|signed|started|began|bought|moved|war|concert|match|launch\\p{L}*|released|published|installed|delivered|ordered|paid|dated|issued|expires?|contract|anniversary|wedding|married|died|happened|event|history|joined|hired|invoice|until|till|from",
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
    noValue: "not|no|at|by|via|until|before|after|when|sent|used|stolen|given|made|wrong|expired|too|required|reset|changed|still|being|on|in|for|what|which|case|never|always|really|very|safe|secure|blocked|locked|needed|missing|invalid|don't|doesn't|didn't|know|forgot|forgotten|remember|lost|good|gone|already|fine|spelled|misspelled|on|here|there|with|from|and|but|or|to|of|calling|just|about|something|anything|the|a|an|your",
    saidOfIt: "correct|incorrect|right|okay|secret|known",
    fillers: "uh|um|er|ah|oh|dear|now|eh|mm|right|alright|hmm|and|then|yes|yeah|okay|ok|so|well|let|me|see|sure",
    ordinals: "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth thirtieth",
    ordinalEnd: "",
    dateWords: "of|the|in|on|th|st|nd|rd|and",
  },
  de: {
    cues: {
      card: "\\p{L}*karten?|\\p{L}*karten?(?:nummern?|nr|daten)|visa|master ?card|american express|amex|maestro|girocard|(?:sechzehn|16) ?(?:ziffern|stellen)|sechzehnstellig\\p{L}*|belasten|belastet",
      bank: "iban|\\p{L}*kont(?:o|en|os)|\\p{L}*konto\\p{L}*|kto|lastschrift\\p{L}*|einzug\\p{L}*|bic|swift|\\p{L}*bank|bank(?:verbindung|leitzahl|daten)\\p{L}*|blz|sparkasse\\p{L}*|überweis\\p{L}*|abbuchen|einziehen",
      id: "steuer\\p{L}*|steuer id|\\p{L}*identifikations\\p{L}*|idnr|ident ?nummer|id nummer|\\p{L}*ausweis\\p{L}*|(?:reise)?pass(?:es|nummer|nr)?|reisepass\\p{L}*|\\p{L}*versicherungs(?:nummer|nr)|sozialversicherung\\p{L}*|rentenversicherung\\p{L}*|krankenversicher\\p{L}*|krankenkasse\\p{L}*|versicherten\\p{L}*|versichertennummer|führerschein\\p{L}*|ahv\\p{L}*|perso|sv nummer|svnr|aufenthaltstitel",
      birth: "geboren\\p{L}*|geburts(?!tags(?:feier|party|kuchen|geschenk|kind))\\p{L}*|geb|zur welt|auf die welt|jahrgang|wie alt",
      secret: "(?:\\p{L}*(?:karten|alarm|tür|handy|sim|app))?pin|pin code|geheim\\p{L}*|\\p{L}*pass(?:wort|wörter|phrase|code)\\p{L}*|\\p{L}*kennw(?:ort|örter)\\p{L}*|(?:karten)?prüf(?:nummer|ziffer|zahl|code)\\p{L}*|sicherheits\\p{L}*|(?!(?:fehler|produkt|artikel|rabatt|gutschein|qr|bar|strich|post|länder|vorwahl|aktions|promo|farb|flug|quell|buchungs|bestell|status)code)\\p{L}*codes?|(?:\\p{L}*(?:sms|push|mobile|chip|foto|photo) ?|[mie])?tan|cvv|cvc|losung\\p{L}*|puk|einmal(?:ig)?\\p{L}*|drei ziffern|drei stellen|dreistellig\\p{L}*|vierstellig\\p{L}*|zugangs\\p{L}*|freischalt\\p{L}*|entsperr\\p{L}*|anmelde\\p{L}*|schlüssel(?:wort|zahl)|zahlenkombination|kombination",
      phone: "\\p{L}*telefon\\p{L}*|vorwahl|tel|\\p{L}*handy\\p{L}*|mobil\\p{L}*|\\p{L}*rückruf\\p{L}*|festnetz\\p{L}*|erreichen|erreiche|erreichbar|erreicht ihr|zu erreichen|anruf|anrufen|anzurufen|ruf\\p{L}* (?:mich|uns|ihn|sie|euch|bitte|einfach|doch|mal)|ruf\\p{L}* .{0,24}an|(?:meine|unsere|seine|ihre|deine|eure) (?:\\p{L}+ )?nummer|zurück(?:zu)?rufen|sms|\\p{L}*fax\\p{L}*|whats ?app|rufnummer\\p{L}*|\\p{L}*klingeln|meld\\p{L}* (?:sie|euch|dich)|melden|mailbox|kontakt\\p{L}*|wählen|durchrufen|(?:privat|dienst|büro|firmen|geschäfts|notfall|zweit)nummer|(?:private|dienstliche|neue|alte|andere|richtige|direkte|zweite) nummer|(?:welche[rn]?|dieser|unter der|unter) nummer",
      mail: "e ?mails?|\\p{L}*mail\\p{L}*|postfach",
      other: "(?!(?:telefon|handy|mobil|rückruf|ruf|fax|festnetz|kontakt|konto|karten?|pass|ausweis|steuer|ident|identifikations|versicherungs|sozialversicherungs|rentenversicherungs|krankenversicherungs|versicherten|kranken\\p{L}*|geheim|prüf|sicherheits|privat|dienst|büro|geschäfts|firmen|notfall|notruf|whatsapp|führerschein|perso|personal|sozial|renten|patienten|ahv|id|bank|telefax|funk|zweit)n?(?:nummern?|nr) )\\p{L}{3,}(?:nummern?|nr)|preis von|barcode|strichcode|(?:fehler|produkt|\\p{L}*artikel|rabatt|gutschein|qr|bar|strich|post|länder|vorwahl|aktions|promo|farb|flug|quell|buchungs|bestell|status)codes?|(?:qr|bar|promo) codes?|ip adresse|\\p{L}*bestell\\p{L}*|\\p{L}*auftr[aä]g\\p{L}*|\\p{L}*rechnung\\p{L}*|buchung|buchungen|\\p{L}*buchungs\\p{L}*|vorg[aä]ng\\p{L}*|\\p{L}*sendung\\p{L}*|\\p{L}*pakete?s?|\\p{L}*tickets?|aktenzeichen|akte|serien\\p{L}*|flug|flüge|flugs|zug|züge|ice|bus|zimmer|\\p{L}*modelle?|\\p{L}*artikel|\\p{L}*produkte?|referenz\\p{L}*|\\p{L}*reservierung\\p{L}*|\\p{L}*vertr[aä]g\\p{L}*|mitglied\\p{L}*|durchwahl|seite|fall|fälle|version|postleitzahl|plz|zähler\\p{L}*|zählerstand|kilometerstand|stand|koordinaten|breitengrad|längengrad|lotto\\p{L}*|ergebnis|einwohner\\p{L}*|umsatz|gewinn|budget|preise?|kostet|kosten|bezahlt|gezahlt|summe|betrag|gesamt\\p{L}*|isbn|ean|imei|fahrgestell\\p{L}*|kennzeichen|charge|\\p{L}*gutschein\\p{L}*|rabatt\\p{L}*|geschenkkarten?|fehler\\p{L}*|\\p{L}*formular\\p{L}*|paragraf|kapitel|police|schadens?\\p{L}*|antrag\\p{L}*|bescheid|\\p{L}*quittung\\p{L}*|kassenbon|lieferschein\\p{L}*|\\p{L}*lieferung|retoure\\p{L}*|\\p{L}*geräte?|maschine|ip|port|wiegt|gewicht|auflösung|entfernung|\\p{L}*reklamation\\p{L}*|\\p{L}*reparatur\\p{L}*|beschwerde\\p{L}*|anfrage\\p{L}*|meldung\\p{L}*|störung\\p{L}*|projekt\\p{L}*|angebot\\p{L}*|garantie\\p{L}*|transaktion\\p{L}*|bericht\\p{L}*|software|firmware|router|reifen|motor|größe|protokoll\\p{L}*|gewährleistung\\p{L}*|lieferung\\p{L}*",
    },
    counted: "leute|personen|menschen|besucher|gäste|nutzer|aufrufe|anrufe|follower|schritte|einwohner|kunden|mitglieder|einheiten|stück|exemplare|kopien|kilometer|km|meter|quadratmeter|kilo|kilogramm|kg|gramm|tonnen|liter|bytes?|megabyte|gigabyte|pixel|punkte|stimmen|mal|aktien|mitarbeiter|studenten|wörter|zeilen|datensätze|plätze|prozent|stunden|tage|jahre|bestellungen|tickets|pakete|ist (?:meine|die|unsere|ihre) (?:bestell\\p{L}*|buchungs\\p{L}*|rechnungs\\p{L}*|ticket\\p{L}*|sendungs\\p{L}*|vorgangs\\p{L}*|serien\\p{L}*|auftrags\\p{L}*)",
    events: "eröffn\\p{L}*|gegründet|gebaut|erbaut|seit|unterschrieben|begonnen|angefangen|gekauft|gezogen|umgezogen|krieg|konzert|spiel|erschienen|veröffentlicht|installiert|geliefert|bestellt|bezahlt|vertrag\\p{L}*|jubiläum|hochzeit|geheiratet|gestorben|passiert|stammt|datiert|ausgestellt|gültig|läuft ab|abgelaufen|rechnung|bis zum|beigetreten|eingestellt",
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
    noValue: "nicht|nein|um|per|bis|vor|nach|geschickt|gesendet|verschickt|benutzt|gestohlen|kein|keine|falsch|abgelaufen|gesperrt|zu|auf|in|für|welche|welches|noch|schon|ungültig|weiß|vergessen|verloren|wie|was|ein|eine|und|oder|aber|hier|dort|steht|auch|leider|immer|nie|sehr|nur|geändert|unbekannt|weg|wieder|gut|okay|mit|von|aus|das|der|die|es|alles|bei",
    saidOfIt: "richtig|korrekt|bekannt|geheim",
    fillers: "äh|ähm|ach|je|nun|tja|na|naja|hmm|hm|und|dann|ja|also|gut|moment|okay|danke|eh",
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
