let taken: string | undefined;

/** The token of a mailed link. It leaves the address at once: what stays there is seen, kept and shared. */
export function takeToken(): string {
  const given = new URLSearchParams(location.search).get('token');
  if (given !== null) {
    taken = given;
    history.replaceState(history.state, '', location.pathname);
  }
  return taken ?? '';
}
