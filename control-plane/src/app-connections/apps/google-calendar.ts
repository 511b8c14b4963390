import { parametersOf } from '../app-descriptor.ts';
import type { AppDescriptor } from '../app-descriptor.ts';
import { googleOAuth } from './google-oauth.ts';

const calendarId = { type: 'string', description: 'Id of the calendar; the main one without it.' } as const;
const time = (what: string) => ({
  type: 'string',
  description: `${what}, with its offset (RFC 3339), such as 2026-01-31T09:30:00+01:00.`,
});
const timeZone = { type: 'string', description: 'IANA time zone, such as Europe/Berlin.' } as const;
const OF_CALENDAR = '/calendars/{calendar_id|primary}/events';

/** @see https://developers.google.com/workspace/calendar/api/v3/reference */
export const googleCalendar = {
  name: 'Google Calendar',
  variable: 'GOOGLE',
  auth: {
    type: 'oauth2',
    ...googleOAuth,
    scopes: [
      'https://www.googleapis.com/auth/calendar.events',
      'https://www.googleapis.com/auth/calendar.freebusy',
    ],
  },
  apiUrl: 'https://www.googleapis.com/calendar/v3',
  // The title of the main calendar is the address of its owner.
  account: {
    request: {
      method: 'GET',
      path: '/calendars/primary/events',
      query: { maxResults: '1', fields: 'summary' },
    },
    label: 'summary',
  },
  actions: [
    {
      action: 'find_busy_times',
      description: 'Tells when a calendar has no time.',
      parameters: parametersOf(
        { from: time('Start'), to: time('End'), time_zone: timeZone, calendar_id: calendarId },
        ['from', 'to'],
      ),
      request: {
        method: 'POST',
        path: '/freeBusy',
        body: {
          timeMin: '{from}',
          timeMax: '{to}',
          timeZone: '{time_zone}',
          items: [{ id: '{calendar_id|primary}' }],
        },
      },
    },
    {
      action: 'list_events',
      description: 'Lists what a calendar holds in a time.',
      parameters: parametersOf(
        {
          from: time('Start'),
          to: time('End'),
          text: { type: 'string', description: 'Only events that contain it.' },
          calendar_id: calendarId,
        },
        ['from', 'to'],
      ),
      request: {
        method: 'GET',
        path: OF_CALENDAR,
        query: {
          timeMin: '{from}',
          timeMax: '{to}',
          q: '{text}',
          singleEvents: 'true',
          orderBy: 'startTime',
          maxResults: '20',
          fields: 'items(id,summary,location,start,end,status)',
        },
      },
    },
    {
      action: 'create_event',
      description: 'Puts an event into a calendar, and invites a person to it if an address is given.',
      parameters: parametersOf(
        {
          title: { type: 'string', minLength: 1, description: 'Title of the event.' },
          start: time('Start'),
          end: time('End'),
          time_zone: timeZone,
          description: { type: 'string', description: 'What it is about.' },
          location: { type: 'string', description: 'Where it takes place.' },
          attendee_email: { type: 'string', minLength: 3, description: 'E-mail address of who is invited.' },
          calendar_id: calendarId,
        },
        ['title', 'start', 'end'],
      ),
      request: {
        method: 'POST',
        path: OF_CALENDAR,
        query: { sendUpdates: 'all', fields: 'id,status,summary,start,end' },
        body: {
          summary: '{title}',
          description: '{description}',
          location: '{location}',
          start: { dateTime: '{start}', timeZone: '{time_zone}' },
          end: { dateTime: '{end}', timeZone: '{time_zone}' },
          attendees: [{ email: '{attendee_email}' }],
        },
      },
    },
    {
      action: 'delete_event',
      description: 'Takes an event out of a calendar.',
      parameters: parametersOf(
        {
          event_id: { type: 'string', minLength: 1, description: 'Id of the event.' },
          calendar_id: calendarId,
        },
        ['event_id'],
      ),
      request: {
        method: 'DELETE',
        path: `${OF_CALENDAR}/{event_id}`,
        query: { sendUpdates: 'all' },
      },
    },
  ],
} as const satisfies AppDescriptor;
