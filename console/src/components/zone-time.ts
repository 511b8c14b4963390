/** The moment at which clocks of a time zone show a local time; an unknown zone counts as UTC. */
export function instantIn(local: string, timezone: string): string {
  const wanted = Date.parse(`${local}Z`);
  let at = wanted;
  // Twice: the first guess may lie on the other side of a change of the clocks.
  for (let time = 0; time < 2; time++) at += wanted - shownBy(at, timezone);
  return new Date(at).toISOString();
}

/** What clocks of a time zone show at a moment, to the minute, as fields of a form have it: `2026-01-31T09:30`. */
export function localIn(iso: string, timezone: string): string {
  return new Date(shownBy(Date.parse(iso), timezone)).toISOString().slice(0, 16);
}

/** What clocks of a zone show at a moment, as if it were UTC. */
function shownBy(at: number, timezone: string): number {
  try {
    const text = new Intl.DateTimeFormat('sv-SE', {
      ...({ timeZone: timezone, dateStyle: 'short', timeStyle: 'medium' } as const),
    }).format(at);
    return Date.parse(`${text.replace(' ', 'T')}Z`);
  } catch {
    return at;
  }
}
