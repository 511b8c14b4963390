/** What keeps calls of an account from arriving, or from being dialled. */
export interface AccountProblem {
  /** A stable word. */
  code: string;
  /** For people: what is wrong, and what to do. */
  message: string;
}

/** What an account at a carrier is expected to be like. */
export interface ExpectedAccount {
  /** Where the carrier is to tell of calls. */
  voiceUrl: string;
  /** E.164: numbers that are in use. */
  numbers: readonly string[];
}
