import { z } from 'zod';

/** A field of a carrier's credentials. */
export const credentialText = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[\x21-\x7e]+$/, 'must be visible ASCII');
