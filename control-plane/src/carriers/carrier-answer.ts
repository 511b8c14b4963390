import type { z } from 'zod';

/** Reads a carrier's JSON. @returns undefined for what is none, or not what was expected */
export function readAnswer<S extends z.ZodType>(schema: S, body: string): z.output<S> | undefined {
  try {
    return schema.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}
