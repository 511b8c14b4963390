import t from 'tap';
import { findPersonalData } from './find-personal-data.ts';
import { isCardNumber, isIban, passesLuhn } from './check-digits.ts';

void t.test('Luhn is that of the standard', (t) => {
  t.ok(passesLuhn('79927398713'));
  for (const last of '012456789') t.notOk(passesLuhn(`7992739871${last}`), last);
  t.end();
});

void t.test('a card’s number has the length that its first digits ask for', (t) => {
  // The test numbers that issuers and processors publish.
  for (const number of [
    '4111111111111111',
    '4222222222222',
    '5555555555554444',
    '5105105105105100',
    '2223003122003222',
    '378282246310005',
    '341111111111111',
    '30569309025904',
    '36227206271667',
    '38520000023237',
    '3566002020360505',
    '6011111111111117',
    '6200000000000005',
    '6304000000000000',
    '6759649826438453',
    withCheck('411111111111111111'),
    withCheck('622126000000000000'),
  ])
    t.ok(isCardNumber(number), number);
  // Digits without the last, which makes them pass Luhn's check: the length or the issuer is wrong.
  for (const start of [
    '4111111111111',
    '41111111111111',
    '411111111111111111111',
    '5555555555555',
    '555555555555555555',
    '505105105105105',
    '565105105105105',
    '212300312200322',
    '282300312200322',
    '3782822463100',
    '378282246310005',
    '305693090259',
    '30569309025904',
    '3156930902590',
    '356600202036',
    '60111111111111',
    '6011111111111111111',
    '111111111111111',
    '911111111111111',
  ])
    t.notOk(isCardNumber(withCheck(start)), withCheck(start));
  t.notOk(isCardNumber('4111111111111112'), 'another check digit');
  t.end();
});

void t.test('an IBAN has its country’s length, and remains 1', (t) => {
  for (const iban of [
    'DE89370400440532013000',
    'GB29NWBK60161331926819',
    'FR1420041010050500013M02606',
    'NO9386011117947',
    'MT84MALT011000012345MTLCAST001S',
  ])
    t.ok(isIban(iban), iban);
  for (const iban of ['DE89370400440532013001', 'DE8937040044053201300', 'ZZ29NWBK60161331926819', '', 'DE'])
    t.notOk(isIban(iban), iban);
  t.end();
});

void t.test('national ids are known by their form, without a word that announces them', (t) => {
  for (const id of [
    'AB123456C',
    '12345678Z',
    'X1234567L',
    'Y1234567X',
    'RSSMRA85T10A562S',
    'ABCPE1234F',
    '15070649C103',
    '078-05-1120',
    '078 05 1120',
    '123.456.789-09',
    '756.9217.0769.85',
  ])
    t.same(found(`that would be ${id}, yes`), [`national_id: ${id}`], id);
  for (const id of [
    'AB12345C',
    'AB123456E',
    'DA123456C',
    '12345678A',
    'X1234567A',
    'RSSMRA85T10A56S',
    'ABCXE1234F',
    'ABCPEABCDF',
    '000-05-1120',
    '666-05-1120',
    '978-05-1120',
    '078-00-1120',
    '078-05-0000',
    '757.9217.0769.85',
  ])
    t.notMatch(found(`that would be ${id}, yes`).join(), /national_id/, id);
  t.end();
});

/** The digits with the last one that makes them pass. */
function withCheck(digits: string): string {
  return digits + [...'0123456789'].find((last) => passesLuhn(digits + last))!;
}

function found(text: string): string[] {
  return findPersonalData([{ role: 'caller', text }], { language: 'en-US' }).findings.map(
    ({ start, end, kind }) => `${kind}: ${text.slice(start, end)}`,
  );
}
