import { dictationTable, numbersFrom } from './table.ts';

const HAN = '零 一 二 三 四 五 六 七 八 九'.split(' ');
/** 10 to 99 in characters. */
const tens = Array.from({ length: 90 }, (_, index): [string, number] => {
  const value = index + 10;
  const ten = Math.floor(value / 10);
  return [`${ten === 1 ? '' : HAN[ten]}十${value % 10 === 0 ? '' : HAN[value % 10]}`, value];
});

export const zh = dictationTable({
  numbers: new Map([...numbersFrom(0, '零|〇 一|幺|么 二|两 三 四 五 六 七 八 九'), ...tens]),
  scales: new Map([
    ['百', 100],
    ['千', 1000],
    ['万', 10_000],
  ]),
  plus: '加',
  ends: '分 分钟 岁 岁了 角 毛 整 人 位 个 个人 号 日',
  units: '点 点钟 块 块钱 元 美元 欧元 年 月 度',
  fractions: '半 一刻 三刻',
  at: '艾特 圈a',
  dot: '点儿',
  signs: '艾特 下划线 横杠',
  rooms: '房间 室 号房 登机口 桌 座位 站台 航班 路 楼',
  phones: '电话, 手机, 号码是',
  cards: '卡',
  mails: '邮箱, 邮件, 电子邮件',
  unfinished: '和 但是 或者 因为 如果 所以 的 在 是 我 你 把 跟 那个 就是 然后 嗯 呃',
  unspaced: true,
});
