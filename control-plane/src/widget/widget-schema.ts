import { z } from 'zod';
import { variablesSchema } from '../http/value-schemas.ts';
import { mintSchema } from '../sessions/session-token.ts';

export const startWidgetSessionRequest = z
  .strictObject({
    variables: variablesSchema.nullish().meta({ description: 'Only those that `config.widget` names.' }),
  })
  .meta({ id: 'StartWidgetSessionRequest' });

export const widgetSessionResponse = mintSchema
  .extend({ title: z.string().meta({ description: 'What the page may call the conversation.' }) })
  .meta({ id: 'WidgetSession' });
