import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** Sessions that visitors began with one agent on one day (UTC). `_id` is `<agent id>:<YYYY-MM-DD>`. */
export interface WidgetDayRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  sessions: number;
  expires_at: Date;
}

export const widgetDayCollection = defineCollection<WidgetDayRecord, 'project'>({
  name: 'widget_days',
  tenancy: 'project',
  fields: {
    sessions: { type: Number, required: true },
    expires_at: { type: Date, required: true },
  },
  indexes: [[{ expires_at: 1 }, { expireAfterSeconds: 0 }]],
});
