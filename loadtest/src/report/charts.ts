/** Small charts as SVG text: no library, no network, readable in any browser. */

export interface Series {
  name: string;
  points: readonly (readonly [x: number, y: number])[];
  /** Dots instead of a line. */
  dots?: boolean;
}

export interface ChartOptions {
  title: string;
  x: string;
  y: string;
  series: readonly Series[];
  /** A line across, such as a target. */
  limits?: readonly { name: string; y: number }[];
  /** Least upper end of the vertical axis. */
  yMin?: number;
  logX?: boolean;
  logY?: boolean;
}

const WIDTH = 640;
const HEIGHT = 320;
const LEFT = 62;
const RIGHT = 16;
const TOP = 36;
const BOTTOM = 64;
const COLOURS = ['#1f6feb', '#d1480a', '#1a7f37', '#8250df', '#bf3989', '#57606a'];

export function chart(options: ChartOptions): string {
  const { series, limits = [] } = options;
  const all = series.flatMap((one) => one.points);
  const xs = all.map(([x]) => x);
  const ys = [...all.map(([, y]) => y), ...limits.map((limit) => limit.y), options.yMin ?? 0];
  const xScale = scale(xs, [LEFT, WIDTH - RIGHT], options.logX ?? false);
  const yScale = scale([...ys, ...(options.logY ? [] : [0])], [HEIGHT - BOTTOM, TOP], options.logY ?? false);
  const parts: string[] = [];
  for (const tick of yScale.ticks) {
    const y = yScale.at(tick);
    parts.push(
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y}" y2="${y}" stroke="#d0d7de"/>`,
      text(LEFT - 6, y + 4, label(tick), 'end'),
    );
  }
  for (const tick of xScale.ticks)
    parts.push(text(xScale.at(tick), HEIGHT - BOTTOM + 16, label(tick), 'middle'));
  for (const limit of limits) {
    const y = yScale.at(limit.y);
    parts.push(
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y}" y2="${y}" stroke="#cf222e" stroke-dasharray="5 4"/>`,
      text(WIDTH - RIGHT - 4, y - 5, limit.name, 'end', '#cf222e'),
    );
  }
  series.forEach((one, index) => {
    const colour = COLOURS[index % COLOURS.length]!;
    const points = one.points.map(([x, y]) => [xScale.at(x), yScale.at(y)] as const);
    if (one.dots)
      parts.push(...points.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="1.6" fill="${colour}"/>`));
    else {
      parts.push(
        `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${points.map((p) => p.join()).join(' ')}"/>`,
      );
      if (points.length <= 24)
        parts.push(...points.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="3" fill="${colour}"/>`));
    }
    const legendX = LEFT + index * ((WIDTH - LEFT - RIGHT) / Math.max(1, series.length));
    parts.push(
      `<rect x="${legendX}" y="${HEIGHT - 16}" width="10" height="10" fill="${colour}"/>`,
      text(legendX + 15, HEIGHT - 7, one.name, 'start'),
    );
  });
  parts.push(
    text(LEFT, 18, options.title, 'start', '#1f2328', 14),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 34, options.x, 'middle'),
    `<text transform="translate(14 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle" font-size="11" fill="#57606a">${escape(options.y)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="system-ui, sans-serif" role="img" aria-label="${escape(options.title)}"><rect width="100%" height="100%" fill="#ffffff"/>${parts.join('')}</svg>`;
}

interface Scale {
  at(value: number): number;
  ticks: number[];
}

function scale(values: readonly number[], [from, to]: [number, number], log: boolean): Scale {
  const finite = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  let low = finite.length === 0 ? (log ? 1 : 0) : Math.min(...finite);
  let high = finite.length === 0 ? 1 : Math.max(...finite);
  if (log) {
    low = 10 ** Math.floor(Math.log10(low));
    high = 10 ** Math.ceil(Math.log10(Math.max(high, low * 1.01)));
    const span = Math.log10(high / low);
    const ticks = Array.from({ length: Math.round(span) + 1 }, (_, i) => low * 10 ** i);
    return {
      ticks,
      at: (value) => round(from + ((to - from) * Math.log10(Math.max(value, low) / low)) / span),
    };
  }
  if (high === low) high = low + 1;
  const step = niceStep((high - low) / 5);
  low = Math.floor(low / step) * step;
  high = Math.ceil(high / step) * step;
  const ticks = Array.from({ length: Math.round((high - low) / step) + 1 }, (_, i) => low + i * step);
  return { ticks, at: (value) => round(from + ((to - from) * (value - low)) / (high - low)) };
}

function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((factor) => factor * power >= rough)! * power;
}

function label(value: number): string {
  if (Math.abs(value) >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (Math.abs(value) >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`;
  return String(Number(value.toPrecision(6)));
}

function text(
  x: number,
  y: number,
  content: string,
  anchor: 'start' | 'middle' | 'end',
  fill = '#57606a',
  size = 11,
): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" font-size="${size}" fill="${fill}">${escape(content)}</text>`;
}

export function escape(content: string): string {
  return content.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
}

const round = (value: number) => Math.round(value * 10) / 10;
