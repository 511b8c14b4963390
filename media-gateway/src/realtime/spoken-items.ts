import type { ConversationItems, Item } from './conversation-items.ts';

// A reply of the call is one item, or several when it was held and went on. What was heard of it is counted in words.

export function toWords(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

/** How many words of a reply belong to items before the one in progress. */
export function wordsBefore(items: ConversationItems, replyId: number): number {
  const before = items.ofReply(replyId).filter((item) => item.status !== 'in_progress');
  return before.reduce((words, item) => words + toWords(textOf(item)).length, 0);
}

/** Of the words of a reply, those that belong to one of its items. */
export function wordsOf(item: Item | undefined, text: string): string {
  return toWords(text)
    .slice(item?.spoken?.fromWord ?? 0)
    .join(' ');
}

/** Whether any audio of the reply was sent. */
export function isAudible(items: ConversationItems, replyId: number): boolean {
  return items.ofReply(replyId).some((item) => item.spoken!.sentMs > 0);
}

/** The last words of a reply were sent and not heard. @param heard all words of the reply that were */
export function cutReply(items: ConversationItems, replyId: number, heard: string): void {
  const last = items.ofReply(replyId).at(-1);
  if (last && last.status !== 'in_progress') cutItem(last, heard);
}

/** @param heard all words of the reply that were heard */
export function cutItem(item: Item, heard: string): void {
  if (item.content?.[0]?.type === 'output_text') return; // written: it was read
  item.status = 'incomplete';
  item.content = [{ type: 'output_audio', transcript: wordsOf(item, heard) }];
}

function textOf(item: Item): string {
  const part = item.content?.[0];
  if (!part) return '';
  return 'text' in part ? part.text : (part.transcript ?? '');
}
