import { dictationTable, numbersFrom } from './table.ts';

export const tr = dictationTable({
  numbers: new Map([
    ...numbersFrom(0, 'sıfır bir iki üç dört beş altı yedi sekiz dokuz'),
    ...numbersFrom(10, 'on yirmi otuz kırk elli altmış yetmiş seksen doksan', 10),
  ]),
  scales: new Map([
    ['yüz', 100],
    ['bin', 1000],
  ]),
  double: 'çift',
  plus: 'artı',
  ends: 'yaşındayım yaşında kuruş yüzde',
  units: 'lira euro dolar derece saat dakika yıl tl',
  fractions: 'buçuk çeyrek yarım',
  before: 'saat',
  at: 'kuyruklu et',
  dot: 'nokta',
  signs: 'tire altçizgi',
  letterWords: 'o',
  rooms: 'oda daire süit kat kapı masa koltuk sıra peron terminal uçuş otobüs hat bölüm seçenek numaralı',
  phones: 'numaram, telefon, telefonum, cep, beni ara',
  cards: 'kart, kartım, kartımın, kart numaram',
  mails: 'mail, e posta, eposta, posta adresim, email',
  unfinished:
    've ama fakat ya veya çünkü eğer ki bir bu şu o için ile gibi kadar benim senin onun bizim ben biz şey ee yani çok daha de da en hangi',
});
