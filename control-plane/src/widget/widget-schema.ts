import { z } from 'zod';
import { variablesSchema } from '../http/value-schemas.ts';
import { mintSchema } from '../sessions/session-token.ts';

export const startWidgetSessionRequest = z
  .strictObject({
    variables: variablesSchema.nullish().meta({ description: 'Only variables that `config.widget` names.' }),
  })
  .meta({ id: 'StartWidgetSessionRequest' });

export const widgetSessionResponse = mintSchema
  .extend({ title: z.string().meta({ description: 'The page’s own name for the conversation.' }) })
  .meta({ id: 'WidgetSession' });
