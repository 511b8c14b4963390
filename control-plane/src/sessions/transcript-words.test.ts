import t from 'tap';
import { transcriptWords } from './transcript-words.ts';

void t.test(
  'transcripts are searched by words, and by pairs of characters where nothing separates words',
  (t) => {
    const cases: [string, string[]][] = [
      ['I’d like a REFUND, please: a refund!', ['i', 'd', 'like', 'a', 'refund', 'please']],
      ['Grüße aus Ålesund', ['grüße', 'aus', 'ålesund']],
      ['नमस्ते, 42 रुपये', ['नमस्ते', '42', 'रुपये']],
      ['[phone_number]', ['phone', 'number']],
      ['注文番号は42です。', ['注文', '文番', '番号', '号は', '42', 'です']],
      ['金', ['金']],
      ['…?!', []],
    ];
    for (const [text, words] of cases) t.same(transcriptWords(text), words, text);
    const said = transcriptWords('昨日、返金をお願いしました');
    t.ok(
      transcriptWords('返金').every((word) => said.includes(word)),
      'a part of a text without spaces is found',
    );
    t.end();
  },
);
