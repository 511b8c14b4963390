import { ConversationView } from './conversation-view.js';
import { Microphone, explainMicrophone, listMicrophones } from './microphone.js';
import { Player } from './player.js';
import { RealtimeConnection, fromBase64 } from './realtime-connection.js';

/** A voice this short ago is still going on. */
const STILL_SPEAKING_MS = 250;
/** What an answer waits for, one after the other. */
const STEPS = ['turn end', 'model', 'voice', 'playback'];

const element = (id) => document.getElementById(id);
const ui = {
  status: element('status'),
  problem: element('problem'),
  call: element('call'),
  mute: element('mute'),
  level: element('level'),
  device: element('device'),
  keys: element('keys'),
  write: element('write'),
  text: element('text'),
};
const view = new ConversationView(element('turns'), element('empty'));

/** @type {Call | undefined} */
let call;
/** Resolves when `call` stands, or can't be had. */
let opening = Promise.resolve();

/** One call: connection, microphone, loudspeaker. */
class Call {
  #context = new AudioContext();
  #connection;
  #microphone;
  #player;
  /** Item of the agent's turn that is told now, and whether the caller stopped it. */
  #agentItem = null;
  #stoppedItem = null;
  #lastTypedAt = -Infinity;
  #turnsSinceStop = 0;
  /** When the response began, and by item when its first word and its first sound came, `performance.now()`. */
  #respondedAt = -Infinity;
  #firstWordAt = new Map();
  #firstSoundAt = new Map();
  /** Keys that were pressed in a row are one turn. */
  #keysTurn = null;
  #over = false;

  async open() {
    // Asked first: the browser wants a person's click for it.
    await this.#context.resume();
    this.#player = await Player.open(this.#context);
    this.#player.addEventListener('started', ({ detail }) => this.#onHeard(detail.item));
    this.#player.addEventListener('resumed', () => this.#showState());
    this.#player.addEventListener('finished', () => this.#showState());
    await this.openMicrophone();
    this.#connection = await RealtimeConnection.open();
    this.#connection.addEventListener('event', ({ detail }) => this.#onEvent(detail));
    this.#connection.addEventListener('closed', ({ detail }) => {
      if (!this.#over) ended(detail.code === 1000 ? 'The agent has hung up' : 'The connection was lost');
    });
    ui.keys.disabled = false;
    this.#showState();
  }

  /** Opens the device that is chosen. Without a microphone one can still write. */
  async openMicrophone() {
    const before = this.#microphone;
    this.#microphone = undefined;
    before?.close();
    try {
      this.#microphone = await Microphone.open(this.#context, ui.device.value, (pcm, level) => {
        // Loudness as ears take it, 0 to 100.
        ui.level.value = Math.min(100, Math.round(Math.sqrt(level) * 140));
        this.#connection?.sendAudio(pcm);
      });
      this.#microphone.muted = ui.mute.getAttribute('aria-pressed') === 'true';
      ui.mute.disabled = false;
      showProblem('');
    } catch (error) {
      ui.mute.disabled = true;
      showProblem(explainMicrophone(error));
    }
    await fillDevices();
  }

  set muted(on) {
    if (this.#microphone) this.#microphone.muted = on;
  }

  async write(text) {
    await this.#stopAgent();
    this.#lastTypedAt = performance.now();
    this.#connection.send({ type: 'response.cancel' });
    this.#connection.send({
      type: 'conversation.item.create',
      item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
    });
    this.#connection.send({ type: 'response.create' });
  }

  /** @param {string} key 0-9, * or # */
  async press(key) {
    this.#lastTypedAt = performance.now();
    this.#connection.send({ type: 'parley.dtmf', digits: key });
    await this.#stopAgent();
  }

  close() {
    this.#over = true;
    this.#connection?.close();
    this.#microphone?.close();
    this.#player?.close();
    if (this.#context.state !== 'closed') void this.#context.close();
  }

  #onEvent(event) {
    switch (event.type) {
      case 'input_audio_buffer.speech_started':
        view.turn(event.item_id, 'caller');
        void this.#stopAgent();
        this.#showState('listening', 'You are speaking');
        break;
      case 'input_audio_buffer.speech_stopped':
        this.#showState();
        // Where nothing was said, no words follow.
        setTimeout(() => view.drop(event.item_id), 500);
        break;
      case 'conversation.item.input_audio_transcription.delta':
        view.turn(event.item_id, 'caller').add(event.delta);
        break;
      case 'conversation.item.input_audio_transcription.completed':
        view.turn(event.item_id, 'caller').settle(event.transcript);
        this.#turnsSinceStop++;
        break;
      case 'conversation.item.added':
        if (event.item.role === 'user' && event.item.content?.[0]?.type === 'input_text') {
          view.turn(event.item.id, 'caller').settle(event.item.content[0].text);
          this.#turnsSinceStop++;
        }
        break;
      case 'input_audio_buffer.dtmf_event_received':
        this.#keysTurn ??= view.turn(event.event_id, 'caller');
        this.#keysTurn.settle(`${this.#keysTurn.text || 'Keys: '}${event.event}`);
        this.#turnsSinceStop++;
        break;
      case 'response.created':
        this.#keysTurn = null;
        this.#respondedAt = performance.now();
        this.#showState('thinking', 'The agent is thinking');
        break;
      case 'response.output_audio_transcript.delta':
        this.#agentItem = event.item_id;
        noteFirst(this.#firstWordAt, event.item_id);
        this.#turnOfAgent(event.item_id).add(event.delta);
        break;
      case 'response.output_audio.delta':
        noteFirst(this.#firstSoundAt, event.item_id);
        this.#player.push(event.item_id, fromBase64(event.delta));
        break;
      case 'response.output_item.done':
      case 'conversation.item.retrieved':
        this.#settle(event.item);
        break;
      case 'conversation.item.truncated':
        this.#connection.send({ type: 'conversation.item.retrieve', item_id: event.item_id });
        break;
      case 'response.done':
        if (event.response.status === 'failed')
          showProblem('The agent could not answer: a part of it failed. Say it again, or look at its log.');
        this.#showState();
        break;
      case 'error':
        // Of those that say something to a person.
        if (event.error.code !== 'conversation_already_has_active_response') showProblem(event.error.message);
        break;
    }
  }

  #settle(item) {
    if (item.role !== 'assistant' || !item.content?.[0]) return;
    const turn = view.get(item.id);
    const text = item.content[0].transcript ?? item.content[0].text ?? '';
    if (!turn) return;
    turn.settle(text);
    if (text === '') view.drop(item.id);
    else if (item.status === 'incomplete' && this.#stoppedItem === item.id)
      turn.fact('cut', 'Interrupted by you');
  }

  /** The agent's turn; marks the one before when the agent goes on where it was stopped. */
  #turnOfAgent(itemId) {
    const known = view.get(itemId);
    if (known) return known;
    if (this.#stoppedItem !== null && this.#turnsSinceStop === 0)
      view.get(this.#stoppedItem)?.fact('cut', 'Stopped for a sound, goes on below');
    this.#stoppedItem = null;
    return view.turn(itemId, 'agent');
  }

  /** Somebody else has the floor: what is not heard yet is not to be heard, and the agent is told how far it came. */
  async #stopAgent() {
    const { item, playedMs } = await this.#player.stop();
    if (item === null) return;
    this.#stoppedItem = item;
    this.#turnsSinceStop = 0;
    view.get(item)?.fact('cut', 'Interrupted by you');
    this.#connection.send({
      type: 'conversation.item.truncate',
      item_id: item,
      content_index: 0,
      audio_end_ms: Math.round(playedMs),
    });
  }

  /** The first sound of a turn of the agent comes out of the loudspeaker. */
  #onHeard(item) {
    const turn = view.turn(item, 'agent');
    const now = performance.now();
    const voicedAt = this.#microphone?.lastVoicedAt ?? -Infinity;
    const sinceVoice = now - voicedAt;
    const askedAt = Math.max(voicedAt, this.#lastTypedAt);
    if (this.#turnsSinceStop > 0 && Number.isFinite(askedAt)) {
      const reached = [this.#respondedAt, this.#firstWordAt.get(item), this.#firstSoundAt.get(item), now];
      turn.fact('latency', latencyText(askedAt, reached));
      if (sinceVoice < STILL_SPEAKING_MS && voicedAt > this.#lastTypedAt)
        turn.fact('cut', 'The agent spoke while you did');
    }
    this.#turnsSinceStop = 0;
    this.#showState('speaking', 'The agent is speaking');
  }

  #showState(state, text) {
    if (state === undefined && this.#player?.item != null) showStatus('speaking', 'The agent is speaking');
    else
      showStatus(
        state ?? 'listening',
        text ?? (this.#microphone ? 'Listening' : 'Connected, without a microphone'),
      );
  }
}

function noteFirst(times, item) {
  if (!times.has(item)) times.set(item, performance.now());
}

/**
 * A latency and its parts, which add up to it.
 * @param {number} from @param {(number | undefined)[]} reached when each of `STEPS` was over
 */
function latencyText(from, reached) {
  let before = 0;
  const parts = STEPS.map((step, index) => {
    const until = Math.max(before, Math.round((reached[index] ?? from) - from));
    const part = `${step} ${until - before}`;
    before = until;
    return part;
  });
  return `${before} ms: ${parts.join(', ')}`;
}

function showStatus(state, text) {
  ui.status.dataset.state = state;
  if (ui.status.textContent !== text) ui.status.textContent = text;
}

function showProblem(text) {
  ui.problem.textContent = text;
  ui.problem.hidden = text === '';
}

function ended(text) {
  call?.close();
  call = undefined;
  ui.call.textContent = 'Start talking';
  ui.mute.disabled = true;
  ui.keys.disabled = true;
  ui.level.value = 0;
  showStatus('idle', text);
}

function start() {
  if (!call) opening = open();
  return opening;
}

async function open() {
  view.clear();
  showProblem('');
  showStatus('thinking', 'Connecting');
  ui.call.textContent = 'End';
  const mine = (call = new Call());
  try {
    await mine.open();
    // Ended again while it was being opened.
    if (call !== mine) mine.close();
  } catch (error) {
    mine.close();
    if (call !== mine) return;
    showProblem(`The agent can’t be reached. ${error.message}`);
    ended('Not connected');
  }
}

async function fillDevices() {
  const chosen = ui.device.value;
  const devices = await listMicrophones();
  const options = devices.map(
    (device, index) => new Option(device.label || `Microphone ${index + 1}`, device.deviceId),
  );
  ui.device.replaceChildren(new Option('Standard microphone', ''), ...options);
  if ([...ui.device.options].some((option) => option.value === chosen)) ui.device.value = chosen;
}

ui.call.addEventListener('click', () => {
  if (call) ended('Not connected');
  else void start();
});

ui.mute.addEventListener('click', () => {
  const muted = ui.mute.getAttribute('aria-pressed') !== 'true';
  ui.mute.setAttribute('aria-pressed', String(muted));
  ui.mute.textContent = muted ? 'Unmute' : 'Mute';
  if (call) call.muted = muted;
});

ui.device.addEventListener('change', () => void call?.openMicrophone());
navigator.mediaDevices?.addEventListener?.('devicechange', () => void fillDevices());

ui.keys.addEventListener('click', ({ target }) => {
  if (target.value) void call?.press(target.value);
});

ui.write.addEventListener('submit', (event) => {
  event.preventDefault();
  const text = ui.text.value.trim();
  if (text === '') return;
  ui.text.value = '';
  void start().then(() => call?.write(text));
});

void fillDevices();
