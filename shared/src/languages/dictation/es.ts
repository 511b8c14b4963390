import { dictationTable, numbersFrom } from './table.ts';

export const es = dictationTable({
  numbers: new Map([
    ...numbersFrom(0, 'cero uno|un|una dos tres cuatro cinco seis siete ocho nueve'),
    ...numbersFrom(
      10,
      'diez once doce trece catorce quince dieciséis|dieciseis diecisiete dieciocho diecinueve veinte veintiuno|veintiún|veintiuna veintidós|veintidos veintitrés|veintitres veinticuatro veinticinco veintiséis|veintiseis veintisiete veintiocho veintinueve',
    ),
    ...numbersFrom(30, 'treinta cuarenta cincuenta sesenta setenta ochenta noventa', 10),
  ]),
  scales: new Map([
    ['cien', 100],
    ['ciento', 100],
    ['mil', 1000],
  ]),
  joins: 'y o',
  double: 'doble',
  triple: 'triple',
  plus: 'más mas',
  ends: 'años céntimos centavos mediodía medianoche',
  units: 'hora horas euro euros peso pesos dólar dólares grados minutos',
  fractions: 'media cuarto',
  clock: 'menos',
  before: 'las la sobre hasta',
  at: 'arroba',
  dot: 'punto',
  signs: 'arroba guión guion subrayado',
  letterWords: 'a e o u y',
  as: 'como de',
  rooms:
    'habitación habitacion cuarto sala piso apartamento departamento planta puerta mesa asiento fila andén vía terminal vuelo autobús línea sección opción despacho',
  phones: 'número es, numero es, mi número, teléfono, telefono, celular, móvil, llámame al, llámeme al',
  cards: 'tarjeta',
  mails: 'correo, e mail, email, mail',
  unfinished:
    'y e pero o u porque si cuando entonces que el la los las un una unos unas de del a al en con para por sin mi mis tu su sus nuestro es son era soy está estoy yo nosotros él ella ellos este esta eh em como muy no quien donde cual lo me te se',
});
