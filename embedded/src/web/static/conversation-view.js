/** The turns of a conversation, as they come. */
export class ConversationView {
  #list;
  #empty;
  #turns = new Map();

  /** @param {HTMLElement} list @param {HTMLElement} empty */
  constructor(list, empty) {
    this.#list = list;
    this.#empty = empty;
  }

  clear() {
    this.#list.replaceChildren();
    this.#turns.clear();
    this.#empty.hidden = false;
  }

  /** The turn of an item; made where there is none yet. @param {'caller' | 'agent'} who */
  turn(id, who) {
    const known = this.#turns.get(id);
    if (known) return known;
    this.#empty.hidden = true;
    const turn = new Turn(who);
    this.#turns.set(id, turn);
    this.#list.append(turn.element);
    turn.element.scrollIntoView({ block: 'nearest' });
    return turn;
  }

  get(id) {
    return this.#turns.get(id);
  }

  /** A voice that turned out to say nothing. */
  drop(id) {
    const turn = this.#turns.get(id);
    if (!turn || turn.text !== '') return;
    turn.element.remove();
    this.#turns.delete(id);
  }
}

class Turn {
  element = document.createElement('li');
  text = '';
  #words = document.createElement('p');
  #facts = document.createElement('p');
  #known = new Map();

  constructor(who) {
    this.element.className = who === 'caller' ? 'turn mine coming' : 'turn coming';
    this.element.dataset.who = who;
    // Read out once it is complete, not word by word.
    this.element.setAttribute('aria-busy', 'true');
    const name = document.createElement('p');
    name.className = 'who';
    name.textContent = who === 'caller' ? 'You' : 'Agent';
    this.#words.className = 'words';
    this.#facts.className = 'facts';
    this.element.append(name, this.#words, this.#facts);
  }

  add(delta) {
    this.text += delta;
    this.#words.textContent = this.text;
    this.element.scrollIntoView({ block: 'nearest' });
  }

  /** @param {string} text what is true of it in the end */
  settle(text) {
    this.text = text;
    this.#words.textContent = text;
    this.element.classList.remove('coming');
    this.element.setAttribute('aria-busy', 'false');
  }

  /** @param {string} kind one of each */
  fact(kind, text) {
    let node = this.#known.get(kind);
    if (!node) {
      node = document.createElement('span');
      node.className = kind;
      this.#known.set(kind, node);
      this.#facts.append(node);
    }
    node.textContent = text;
  }
}
