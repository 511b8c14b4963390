export type Sample = Record<string, never>;
