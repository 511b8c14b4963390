import { dictationTable, numbersFrom } from './table.ts';

const HAN = '〇 一 二 三 四 五 六 七 八 九'.split(' ');
/** 10 to 99 in characters. */
const tens = Array.from({ length: 90 }, (_, index): [string, number] => {
  const value = index + 10;
  const ten = Math.floor(value / 10);
  return [`${ten === 1 ? '' : HAN[ten]}十${value % 10 === 0 ? '' : HAN[value % 10]}`, value];
});

export const ja = dictationTable({
  numbers: new Map([
    ...numbersFrom(
      0,
      'ゼロ|零|〇|れい|まる 一|いち 二 三|さん 四|よん 五|ご 六|ろく 七|なな|しち 八|はち 九|きゅう',
    ),
    ...tens,
  ]),
  scales: new Map([
    ['百', 100],
    ['千', 1000],
    ['万', 10_000],
  ]),
  plus: 'プラス',
  ends: '分 歳 才 銭 パーセント です でお願いします お願いします 名 人 個',
  units: '時 円 ドル 月 日 年 度 番',
  fractions: '半',
  joins: 'の',
  at: 'アットマーク アット',
  dot: 'ドット',
  signs: 'アットマーク ドット アンダーバー ハイフン',
  as: '',
  rooms: '部屋 号室 ゲート テーブル 席 番線 便 階',
  phones: '電話, 電話番号, 携帯, 番号は',
  cards: 'カード',
  mails: 'メール',
  unfinished: 'は が を に と で の も から まで けど それで あの えっと ええと',
  unspaced: true,
});
