/** Who talks to an agent in a test: in writing, or aloud. */
export interface TestCaller {
  /** The conversation was ended from the other side. */
  readonly over: boolean;
  /**
   * What the agent says before anybody has said anything.
   * @param waitMs without a beginning by then there is none
   * @returns undefined when it says nothing
   * @throws TestCallError when it fails
   */
  greeting(waitMs: number): Promise<string | undefined>;
  /**
   * Says the next line, once the agent has finished, and waits for all of the answer.
   * @returns undefined when the conversation was over before anything was answered
   * @throws TestCallError when the agent fails
   */
  say(text: string): Promise<string | undefined>;
  /** Which line, counted from 1, the nth turn that the agent took from this caller belongs to. */
  lineOf(nthTurn: number): number;
  /** Idempotent. Resolves when the connection is closed. */
  hangUp(): Promise<void>;
}
