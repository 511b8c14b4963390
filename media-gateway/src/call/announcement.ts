import type { AgentSpeech } from '../speech/agent-speech.ts';

/**
 * Hears out what is being said, then tells the caller what comes, unless the agent has said something itself.
 * @param text rendered; empty: nothing is to be told
 * @param stillDue whether it is still to be told once all was heard
 */
export async function announce(text: string, speech: AgentSpeech, stillDue: () => boolean): Promise<void> {
  speech.protect();
  let told = '';
  for (let said = speech.current; said; said = speech.current) told = (await said.done).heard;
  if (told === '' && text !== '' && stillDue()) await speech.say(text, 'say', { interruptible: false }).done;
}
