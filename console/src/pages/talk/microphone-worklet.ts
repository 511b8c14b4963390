// Runs beside the page: see `microphone.ts`.
import '@parley/shared/browser/microphone-worklet.js';
