import t from 'tap';
import { decodeToneWords } from '@parley/emulators/speech/tone-words';
import { answerByScript, parseScript } from '@parley/emulators/providers/openai/script';
import { parseChatRequest } from '@parley/emulators/providers/openai/chat-request';
import { CONVERSATIONS, conversation, linesOf, modelRules, parseMix, vocabulary } from './conversation.ts';

void t.test('no two words of the agent sound the same', (t) => {
  t.doesNotThrow(() => decodeToneWords(new Int16Array(0), 8000, vocabulary()));
  t.end();
});

void t.test('the emulated model knows the answer to every question', (t) => {
  const script = parseScript({ rules: modelRules() });
  const reply = (user: string) =>
    answerByScript(script, parseChatRequest({ model: 'm', messages: [{ role: 'user', content: user }] }))
      .text;
  for (const name of CONVERSATIONS) {
    for (const step of conversation(name, 8).steps) {
      if (step.do === 'ask' || step.do === 'interrupt') t.equal(reply(step.line), step.reply, step.line);
      if (step.do === 'ask_with_pause') t.equal(reply(`${step.first} ${step.then}`), step.reply);
    }
  }
  t.equal(reply('I have some trouble.'), 'Sorry?', 'half a question gets no answer of its own');
  t.end();
});

void t.test('the recogniser hears a line for each thing said', (t) => {
  t.same(linesOf(conversation('backchannel', 2)), [
    'What is the story of apples?',
    'Mhm.',
    'Please tell me about bridges.',
  ]);
  t.equal(linesOf(conversation('pause_700', 4)).length, 5);
  t.equal(linesOf(conversation('noise', 2))[1], '', 'noise has no words');
  t.end();
});

void t.test('a mix keeps its shares and refuses what it does not know', (t) => {
  const mix = parseMix('talk:6,barge_in:2,noise');
  t.equal(mix.length, 9);
  t.equal(mix.filter((name) => name === 'talk').length, 6);
  t.equal(mix.filter((name) => name === 'barge_in').length, 2);
  for (const bad of ['walk', 'talk:x', 'talk:0', 'talk:-1']) t.throws(() => parseMix(bad), RangeError, bad);
  t.end();
});
