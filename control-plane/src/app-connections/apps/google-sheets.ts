import { parametersOf } from '../app-descriptor.ts';
import type { AppDescriptor } from '../app-descriptor.ts';
import { googleOAuth } from './google-oauth.ts';

const spreadsheetId = {
  type: 'string',
  minLength: 1,
  description: 'Id of the spreadsheet, from its address.',
} as const;
const range = {
  type: 'string',
  minLength: 1,
  description: 'Cells in A1 notation, such as Orders!A1:D20.',
} as const;

/** @see https://developers.google.com/workspace/sheets/api/reference/rest */
export const googleSheets = {
  name: 'Google Sheets',
  variable: 'GOOGLE',
  auth: { type: 'oauth2', ...googleOAuth, scopes: ['https://www.googleapis.com/auth/spreadsheets'] },
  apiUrl: 'https://sheets.googleapis.com/v4',
  actions: [
    {
      action: 'read_rows',
      description: 'Reads cells of a spreadsheet.',
      parameters: parametersOf({ spreadsheet_id: spreadsheetId, range }, ['spreadsheet_id', 'range']),
      request: { method: 'GET', path: '/spreadsheets/{spreadsheet_id}/values/{range}' },
    },
    {
      action: 'append_row',
      description: 'Adds a row below a table of a spreadsheet.',
      parameters: parametersOf(
        {
          spreadsheet_id: spreadsheetId,
          range,
          values: {
            type: 'array',
            items: { type: ['string', 'number', 'boolean'] },
            minItems: 1,
            description: 'Values of the row, from left to right.',
          },
        },
        ['spreadsheet_id', 'range', 'values'],
      ),
      request: {
        method: 'POST',
        path: '/spreadsheets/{spreadsheet_id}/values/{range}:append',
        // What a caller says is never a formula.
        query: { valueInputOption: 'RAW', insertDataOption: 'INSERT_ROWS' },
        body: { values: ['{values}'] },
      },
    },
  ],
} as const satisfies AppDescriptor;
