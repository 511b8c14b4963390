import { useEffect, useRef, useState } from 'react';
import { api, take } from '../../api/client.ts';
import { failureText } from '../../components/tell-failure.ts';
import type { ToolMock } from '../call/tool-mocks.ts';
import { TalkCall } from './talk-call.ts';
import { TalkConversation } from './talk-conversation.ts';

/** A conversation in the page, and what has become of it. */
export interface Talk {
  /** Another for each conversation. */
  id: number;
  conversation: TalkConversation;
  call: TalkCall;
  sessionId: string | null;
  state: 'opening' | 'open' | 'over';
  ending: string;
}

/** The conversation that is held, if any; the page's end ends it. */
export function useTalk(agentId: string, version: number | undefined) {
  const [talk, setTalk] = useState<Talk | null>(null);
  const [level, setLevel] = useState(0);
  const current = useRef<TalkCall | null>(null);
  useEffect(() => () => current.current?.close(), []);

  function over(call: TalkCall, ending: string) {
    call.close();
    setLevel(0);
    setTalk((before) => (before?.call === call ? { ...before, state: 'over', ending } : before));
  }
  function start({
    microphone,
    variables,
    toolMocks,
  }: {
    microphone: boolean;
    variables: Record<string, string>;
    toolMocks: readonly ToolMock[];
  }) {
    const conversation = new TalkConversation();
    const call = new TalkCall({ conversation, onLevel: setLevel });
    current.current?.close();
    current.current = call;
    setTalk({ id: Date.now(), conversation, call, sessionId: null, state: 'opening', ending: '' });
    const mint = async () => {
      const given = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''));
      const made = await take(
        api.POST('/v1/realtime/sessions', {
          body: {
            agent_id: agentId,
            ...(version !== undefined && { agent_version: version }),
            variables: given,
            client_tools: false,
            tool_mocks: toolMocks,
          } as never,
        }),
      );
      setTalk((before) => (before?.call === call ? { ...before, sessionId: made.session_id } : before));
      return { url: made.ws_url, token: made.token! };
    };
    call
      .open(mint, {
        microphone,
        onClosed: (code) => over(call, code === 1000 ? 'The agent has hung up.' : 'The connection was lost.'),
      })
      .then(() =>
        setTalk((before) =>
          before?.call === call && before.state === 'opening' ? { ...before, state: 'open' } : before,
        ),
      )
      .catch((error: unknown) => {
        conversation.say(failureText(error));
        over(call, 'Not connected.');
      });
  }
  function end() {
    if (talk) over(talk.call, 'You have ended it.');
  }
  return { talk, level, start, end };
}
