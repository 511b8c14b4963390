/** Limits on the cost of a page that anybody may open. */

/** Attempts to start a session, from one address over all agents. */
export const WIDGET_STARTS_PER_MINUTE = 5;
/** Of one agent at a time, waiting for their visitor or talking. */
export const WIDGET_SESSIONS_AT_ONCE = 3;
export const WIDGET_SESSION_SECONDS = 600;
export const WIDGET_TOKEN_SECONDS = 600;
