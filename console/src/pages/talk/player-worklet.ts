// Runs beside the page: see `player.ts`.
import '@parley/shared/browser/player-worklet.js';
