import { dictationTable, numbersFrom } from './table.ts';

export const pt = dictationTable({
  numbers: new Map([
    ...numbersFrom(0, 'zero um|uma dois|duas três|tres quatro cinco seis|meia sete oito nove'),
    ...numbersFrom(
      10,
      'dez onze doze treze quatorze|catorze quinze dezesseis|dezasseis dezessete|dezassete dezoito dezenove|dezanove',
    ),
    ...numbersFrom(20, 'vinte trinta quarenta cinquenta|cinqüenta sessenta setenta oitenta noventa', 10),
  ]),
  scales: new Map([
    ['cem', 100],
    ['cento', 100],
    ['mil', 1000],
  ]),
  joins: 'e',
  double: 'duplo',
  triple: 'triplo',
  plus: 'mais',
  ends: 'anos centavos cêntimos',
  units: 'hora horas real reais euro euros dólar dólares graus minutos',
  fractions: 'quarto',
  clock: 'menos',
  before: 'às as até umas',
  at: 'arroba',
  dot: 'ponto',
  signs: 'arroba hífen traço underline underscore sublinhado',
  letterWords: 'a e o à é',
  as: 'de como',
  rooms:
    'quarto sala apartamento suíte andar porta portão mesa assento lugar fila plataforma linha terminal voo ônibus autocarro secção seção opção',
  phones: 'número é, meu número, telefone, celular, telemóvel, liga para o, ligue para o',
  cards: 'cartão',
  mails: 'mail, e mail, email, correio eletrônico, correio eletrónico',
  unfinished:
    'e mas ou porque se quando então que o a os as um uma uns umas de do da dos das em no na nos nas com para por pelo meu minha seu sua nosso é são era sou estou eu nós ele ela eles hum como muito não quem onde qual me te',
});
