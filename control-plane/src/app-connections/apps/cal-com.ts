import { parametersOf } from '../app-descriptor.ts';
import type { AppDescriptor } from '../app-descriptor.ts';

const eventTypeId = { type: 'integer', minimum: 1, description: 'Id of the kind of appointment.' } as const;
const start = {
  type: 'string',
  description: 'Start of the appointment in UTC (ISO 8601), such as 2026-01-31T09:30:00Z.',
} as const;
const bookingUid = { type: 'string', minLength: 1, description: 'Uid of the booking.' } as const;
const timeZone = { type: 'string', description: 'IANA time zone, such as Europe/Berlin.' } as const;
/** Each part of the API has versions of its own. */
const OF_SLOTS = { 'cal-api-version': '2024-09-04' } as const;
const OF_BOOKINGS = { 'cal-api-version': '2024-08-13' } as const;

/** Cal.com, by an API key of its account. @see https://cal.com/docs/api-reference/v2/introduction */
export const calCom = {
  name: 'Cal.com',
  variable: 'CAL_COM',
  auth: { type: 'api_key' },
  apiUrl: 'https://api.cal.com/v2',
  account: { request: { method: 'GET', path: '/me' }, label: 'data.email' },
  actions: [
    {
      action: 'find_slots',
      description: 'Finds free times for an appointment.',
      parameters: parametersOf(
        {
          event_type_id: eventTypeId,
          start: {
            type: 'string',
            description: 'First day, such as 2026-01-31, or a time in UTC (ISO 8601).',
          },
          end: { type: 'string', description: 'Last day, such as 2026-02-02, or a time in UTC (ISO 8601).' },
          time_zone: timeZone,
        },
        ['event_type_id', 'start', 'end'],
      ),
      request: {
        method: 'GET',
        path: '/slots',
        query: { eventTypeId: '{event_type_id}', start: '{start}', end: '{end}', timeZone: '{time_zone}' },
        headers: OF_SLOTS,
      },
    },
    {
      action: 'create_booking',
      description: 'Books an appointment for a person.',
      parameters: parametersOf(
        {
          event_type_id: eventTypeId,
          start,
          attendee_name: { type: 'string', minLength: 1, description: 'Name of the person.' },
          attendee_email: { type: 'string', minLength: 3, description: 'E-mail address of the person.' },
          attendee_phone_number: { type: 'string', description: 'Phone number of the person (E.164).' },
          attendee_time_zone: timeZone,
        },
        ['event_type_id', 'start', 'attendee_name', 'attendee_email', 'attendee_time_zone'],
      ),
      request: {
        method: 'POST',
        path: '/bookings',
        headers: OF_BOOKINGS,
        body: {
          start: '{start}',
          eventTypeId: '{event_type_id}',
          attendee: {
            name: '{attendee_name}',
            email: '{attendee_email}',
            phoneNumber: '{attendee_phone_number}',
            timeZone: '{attendee_time_zone}',
          },
        },
      },
    },
    {
      action: 'reschedule_booking',
      description: 'Moves a booking to another time.',
      parameters: parametersOf(
        {
          booking_uid: bookingUid,
          start,
          reason: { type: 'string', description: 'Why it is moved.' },
        },
        ['booking_uid', 'start'],
      ),
      request: {
        method: 'POST',
        path: '/bookings/{booking_uid}/reschedule',
        headers: OF_BOOKINGS,
        body: { start: '{start}', reschedulingReason: '{reason}' },
      },
    },
    {
      action: 'cancel_booking',
      description: 'Cancels a booking.',
      parameters: parametersOf(
        { booking_uid: bookingUid, reason: { type: 'string', description: 'Why it is cancelled.' } },
        ['booking_uid'],
      ),
      request: {
        method: 'POST',
        path: '/bookings/{booking_uid}/cancel',
        headers: OF_BOOKINGS,
        body: { cancellationReason: '{reason}' },
      },
    },
  ],
} as const satisfies AppDescriptor;
