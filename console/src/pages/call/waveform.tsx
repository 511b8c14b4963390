import { useEffect, useRef } from 'react';
import { useComputedColorScheme } from '@mantine/core';
import WaveSurfer from 'wavesurfer.js';
import { cspNonce } from '../../api/page-settings.ts';
import type { Playback } from './playback.ts';
import type { Outline } from './recording-sound.ts';

/** Height of one side, in pixels. */
const SIDE_PX = 44;
const COLORS = {
  light: { caller: ['#9fd3c7', '#0c8571'], agent: ['#c3c2f3', '#4c48ad'] },
  dark: { caller: ['#1f5d52', '#4fd1b5'], agent: ['#3f3d75', '#a4a2ea'] },
} as const;

/** Both sides of a recording, the caller above: what was played is drawn stronger. */
export function Waveform({ outline, playback }: { outline: Outline; playback: Playback }) {
  const place = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme('light');
  const { channels, seconds } = outline;
  useEffect(() => {
    if (!place.current) return;
    const [caller, agent] = [COLORS[scheme].caller, COLORS[scheme].agent];
    const waves = WaveSurfer.create({
      container: place.current,
      cspNonce,
      peaks: [...channels],
      duration: seconds,
      height: SIDE_PX,
      normalize: true,
      interact: false,
      cursorWidth: 0,
      barWidth: 2,
      barGap: 1,
      barRadius: 2,
      waveColor: caller[0],
      progressColor: caller[1],
      ...(channels.length > 1 && {
        splitChannels: [
          { waveColor: caller[0], progressColor: caller[1] },
          { waveColor: agent[0], progressColor: agent[1] },
        ],
      }),
    });
    const follow = () => waves.setTime(playback.timeMs / 1000);
    const off = playback.subscribe(follow);
    waves.on('ready', follow);
    return () => {
      off();
      waves.destroy();
    };
    // The outline's arrays are filled in place; it is another object each time that there is more of it.
  }, [outline, channels, seconds, playback, scheme]);
  return <div ref={place} className="waveform" style={{ height: SIDE_PX * channels.length }} aria-hidden />;
}
