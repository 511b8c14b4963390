import type { Speaker } from '../noise/voices.ts';
import { HELD_OUT_ANSWERS, HELD_OUT_SPEAKERS } from './held-out-answers.ts';
import { answersOf, type AnswerScript } from './answer-script.ts';

/** The first half: on it the detector may be tuned. */
const SPEAKERS: readonly Speaker[] = [
  { voice: 'rms', size: 1, pace: 1 },
  { voice: 'kal16', size: 1.05, pace: 1.02 },
  { voice: 'rms', size: 1.15, pace: 0.95 },
  { voice: 'kal16', size: 1.25, pace: 0.92 },
  { voice: 'rms', size: 0.92, pace: 1.08 },
];

const PEOPLE = [
  '[500] Hello?',
  '[300] Hello. [2500] Hello?',
  '[900] Hi, this is Mary.',
  '[600] Good morning, Smith and Sons, how can I help you?',
  '[200] Yes?',
  '[700] Hello, John speaking. [3200] Yes, that is me.',
  '[400] Yeah, hello, who is this?',
  '[1400] Hello? [1800] Hello, is anybody there?',
  '[600] Thank you for calling Green Gardens, this is Dave speaking, how may I help you today?',
  '[300] Doctor Miller.',
  '[500] Hang on a second. [1500] Sorry, hello?',
  '[800] Hello, you have reached the office of Baker and Young, this is Linda.',
  '[350] Good afternoon.',
  '[600] Oh, hi! I was just about to call you back. [2500] So, what is new?',
  '[450] Speaking.',
  '[600] Hello? [2600] No, he is not here right now, can I take a message?',
  '[700] Hi, Robert here, I am driving, so make it quick. [3000] Okay, go ahead.',
  '[500] Front desk, Susan speaking, please hold. [4000] Thanks for waiting, how can I help?',
  '[300] What?',
  '[650] Hello hello. [2200] I can hardly hear you.',
  '[1100] Yes, good evening, Peterson.',
  '[400] Hello, Anna. [350] Anna Berg.',
  '[600] Pizza Roma, good evening, delivery or pick up?',
  '[500] Hello? [500] Hello?',
  '[800] City library, information, my name is Carol, what can I do for you?',
  '[250] Hey. [2800] I am not available today, try me tomorrow as soon as you can.',
  '[600] Mom? [1200] Is that you?',
  '[900] Hello, this is the Johnson residence.',
  '[500] Um, hello? [2400] I think you have the wrong number.',
  '[700] Sales department, Frank Weber, good morning.',
];

const VOICEMAILS = [
  '[700] Hi, you have reached Mary Jones. I cannot take your call right now. Please leave a message after the beep. [700] {1000/400} [6000]',
  '[400] Your call has been forwarded to an automated voice messaging system. [300] Five five five, zero one nine nine, is not available. At the tone, please record your message. When you have finished recording, you may hang up. [500] {440/500} [6000]',
  '[1000] Hello, this is John. [300] I am not available at the moment, so leave me your name and number and I will get back to you. [900] {850/350} [6000]',
  '[600] The person you are trying to reach is not available. Please leave your message after the tone. [600] {1400/250} [6000]',
  '[500] You have reached the voicemail of Doctor Miller. Our office is closed. [400] Please call again between nine and five. [6000]',
  '[1500] Hey! [500] It is Steve. You know what to do, leave a message after the beep. [800] {1000/300} [6000]',
  '[600] The mailbox is full and cannot accept any messages at this time. Goodbye. [6000]',
  '[800] We are sorry, the customer you are calling is currently unavailable. Please try again later. [6000]',
  '[500] Hi! [400] Sorry I missed your call. I am either away from my phone or in a meeting. I will return your call as soon as I can. [1200] {950/600} [6000]',
  '[900] Thanks for calling Baker and Young. We cannot take your call right now. Please leave a detailed message and we will call you back. [700] {620/450} [6000]',
  '[1200] {1000/500} [8000]',
  '[300] Welcome to voice mail. The mailbox of five five five zero one two three. Please record your message at the tone. [500] {500/300} [6000]',
  '[700] Hello? [1200] Just kidding, I am not here. Leave a message after the tone. [700] {1000/400} [6000]',
  '[600] This is Frank Weber with Northern Insurance. I am out of the office until Monday, in urgent cases please contact my colleague. Otherwise leave your name, number and a brief message. [900] {880/400} [6000]',
  '[2000] Hi, this is Karen. I cannot come to the phone right now. Leave me a message and have a great day. [1000] {1000/350} [6000]',
  '[500] The number you have dialed is not available. Please leave a voice message. To leave a call back number, press five. [600] {440/400} [6000]',
];

const SCREENING = [
  '[600] Hi, the person you are calling is using a screening service from Google, and will get a copy of this conversation. Go ahead and say your name, and why you are calling. [8000]',
  '[500] Hi. If you record your name and reason for calling, I will see if this person is available. [600] {1000/200} [8000]',
  '[800] Please state your name after the tone and the call will be connected. [500] {900/300} [8000]',
  '[400] This call is being screened. Please say your name and the purpose of your call. [8000]',
  '[700] Hello, I am the call assistant of Mister Brown. Who is calling, and what is it about? [8000]',
  '[600] Before I try to connect you, may I have your name and the reason for your call? [8000]',
];

const MENUS = [
  '[500] Thank you for calling City Bank. For English, press one. Para espanol, marque dos. [4000]',
  '[400] Welcome to Northern Airlines. Please listen carefully, as our menu options have changed. For reservations, press one. For flight status, press two. [4000]',
  '[700] All of our agents are busy. Your call will be answered in the order it was received. ~6000',
  '[600] Welcome to the customer service of Power and Light. In a few words, tell me what you are calling about. [5000]',
  "[500] You have reached Green Gardens. If you know your party's extension, you may dial it now. Otherwise, press zero for the operator. [4000]",
  '[300] Please enter your account number, followed by the pound key. [5000]',
  '[800] Good morning, and thank you for calling. [600] To make an appointment, press one. [700] For the pharmacy, press two. [4000]',
  '[600] Your call is important to us. You are number four in the queue. ~6000',
];

const WORDLESS = ['~9000', '[1500] ~8000', '[600] ~3000 [400] ~5000'];

const corpus = (
  speakers: readonly Speaker[],
  texts: Record<'people' | 'voicemails' | 'screening' | 'menus' | 'music' | 'silence', readonly string[]>,
): AnswerScript[] => [
  ...answersOf('human', speakers, texts.people),
  ...answersOf('voicemail', speakers, texts.voicemails),
  ...answersOf('screening', speakers, texts.screening),
  ...answersOf('ivr', speakers, texts.menus),
  ...answersOf('music', speakers, texts.music),
  ...answersOf('silence', speakers, texts.silence),
];

/** Answers by half. No voice and no wording of one is in the other. */
export const ANSWER_CORPUS = {
  development: corpus(SPEAKERS, {
    people: PEOPLE,
    voicemails: VOICEMAILS,
    screening: SCREENING,
    menus: MENUS,
    music: WORDLESS,
    silence: ['[9000]', '[9000]', '[9000]'],
  }),
  'held-out': corpus(HELD_OUT_SPEAKERS, HELD_OUT_ANSWERS),
} as const;
export type AnswerHalf = keyof typeof ANSWER_CORPUS;
