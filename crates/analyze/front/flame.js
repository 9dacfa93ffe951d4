// The flame graph: boxes of the document, so that text is text and every box can be reached. Of time its figures are
// those of the table of sections, of live memory those of samples. Zoom into a box, search, time of all calls or own time only, callers below callees. Boxes too
// narrow to be told apart are one together, which opens into pages of them.

/** Pixels from which a box is one of its own, and how many are on a page of narrow ones; how wide the way to the next is. */
const NARROWEST = 4;
const PAGE = 24;
const NEXT = 12;

/** Names of a path; `\/` and `\\` inside of names are undone. */
function namesOf(path) {
  const names = [''];
  for (let at = 0; at < path.length; at += 1) {
    if (path[at] === '\\' && at + 1 < path.length) names[names.length - 1] += path[at += 1];
    else if (path[at] === '/') names.push('');
    else names[names.length - 1] += path[at];
  }
  return names;
}

/** What stands for a name that is empty. */
const NO_NAME = '(no name)';

/** A path whose empty names say so; as `names::named_path` does. */
function namedPath(path) {
  return namesOf(path).map((name) => (name === '' ? NO_NAME : name.replace(/[\\/]/g, '\\$&'))).join('/');
}

/** The time of all calls in a row of the table of sections. */
const totalOf = (row) => Number(row.cells[3].querySelector('data')?.value ?? 0);

/** The sections of the table as a flame graph takes them; what it shows first is the step: beside it lie loaders that wait, and what
 * the program does once. */
function flameOfSections(rows) {
  const skipped = new Set(['run', 'epoch']);
  const sections = rows.filter((row) => !skipped.has(row.dataset.kind)).map((row) => ({
    names: namesOf(row.dataset.path),
    total: totalOf(row),
    own: Number(row.cells[4].querySelector('data')?.value ?? 0),
    phase: row.dataset.phase,
  }));
  const steps = rows.filter((row) => row.dataset.kind === 'step').sort((a, b) => totalOf(b) - totalOf(a));
  return { id: 'flame', sections, home: steps[0]?.dataset.path ?? '', unit: duration, own: 'own time only', all: 'All sections', order: 'by time' };
}

/** Live bytes by section and call: a call has as much as what it calls and what it allocated itself. */
function flameOfMemory({ names, stacks }) {
  const nodes = new Map();
  for (const [bytes, ...places] of stacks) {
    let key = '';
    places.forEach((place, depth) => {
      key += `${place} `;
      if (!nodes.has(key)) nodes.set(key, { names: places.slice(0, depth + 1).map((one) => names[one]), total: 0, own: 0, phase: '' });
      const node = nodes.get(key);
      node.total += bytes;
      if (depth === places.length - 1) node.own += bytes;
    });
  }
  return { id: 'live', sections: [...nodes.values()], home: '', unit: byteSize, own: 'own bytes only', all: 'All live memory', order: 'by size' };
}

class Flame {
  constructor({ id, sections, home, unit, own, all, order }, changed) {
    Object.assign(this, { changed, sections, home, unit, all, order, zoomed: home, from: 0, words: '', own: false, inverted: false });
    this.place = document.getElementById(`${id}-graph`);
    this.said = document.getElementById(`${id}-said`);
    this.color = phaseColors();
    this.tools(document.getElementById(`${id}-tools`), `${id}-search`, own);
    this.place.hidden = false;
    this.place.addEventListener('keydown', (event) => (event.key === 'Escape' ? this.zoom('') : moveAmong(this.place, event)));
  }

  tools(place, id, own) {
    this.search = element('input', { type: 'search', id, oninput: () => { this.words = this.search.value; this.draw(); this.changed(); } });
    const box = (label, name) => {
      const input = element('input', { type: 'checkbox', onchange: () => { this[name] = input.checked; this.zoomed = this.inverted ? '' : this.home; this.from = 0; this.draw(); this.changed(); } });
      place.append(element('label', {}, input, ` ${label}`));
      return input;
    };
    place.append(element('label', {}, 'Search ', this.search));
    this.ownBox = box(own, 'own');
    this.invertedBox = box('callers below callees', 'inverted');
    place.append(element('button', { type: 'button', onclick: () => this.zoom('') }, 'Show all'));
    place.hidden = false;
  }

  /** Shows what an address says. */
  restore(address) {
    this.words = this.search.value = address.get('search') ?? '';
    this.own = this.ownBox.checked = address.has('own');
    this.inverted = this.invertedBox.checked = address.has('inverted');
    this.zoomed = address.get('zoom') ?? (this.inverted ? '' : this.home);
    this.from = Math.max(Math.trunc(Number(address.get('from'))) || 0, 0);
    this.draw();
  }

  /** The tree that is shown: by path, or by name with the callers below. */
  tree() {
    const root = { name: 'all', key: '', total: 0, own: 0, children: new Map() };
    const child = (node, name, phase) => {
      const key = node.key === '' ? name.replace(/[\\/]/g, '\\$&') : `${node.key}/${name.replace(/[\\/]/g, '\\$&')}`;
      if (!node.children.has(name)) node.children.set(name, { name, key, total: 0, own: 0, phase, children: new Map() });
      return node.children.get(name);
    };
    for (const { names, total, own, phase } of this.sections) {
      let node = root;
      if (this.inverted) {
        if (own <= 0) continue;
        for (const name of [...names].reverse()) {
          node = child(node, name, node === root ? phase : '');
          node.total += own;
          node.own += own;
        }
      } else {
        names.forEach((name) => { node = child(node, name, ''); });
        node.phase = phase;
        node.total += total;
        node.own += own;
      }
    }
    const weigh = (node) => {
      const inner = [...node.children.values()].reduce((sum, one) => sum + weigh(one), 0);
      if (this.inverted) node.value = node.total;
      else if (this.own) node.value = node.own + inner;
      else node.value = Math.max(node.total, node.key === '' || node.total === 0 ? inner : 0);
      node.inner = inner;
      return node.value;
    };
    weigh(root);
    root.value = [...root.children.values()].reduce((sum, one) => sum + one.value, 0);
    return root;
  }

  /** Zooms into a box; `from` is the first of its children on a page of narrow ones. */
  zoom(key, from = 0) {
    Object.assign(this, { zoomed: key, from });
    this.draw();
    this.place.querySelector('button')?.focus();
    this.changed();
  }

  find(node, key) {
    if (node.key === key) return node;
    for (const one of node.children.values()) {
      const found = this.find(one, key);
      if (found) return found;
    }
    return null;
  }

  /** How the children of a box share its width: those that are drawn, what they all share, and those that are one box. */
  parts(node, width, isTop) {
    const children = [...node.children.values()].filter((one) => one.value > 0);
    children.sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1));
    const sum = (list) => list.reduce((all, one) => all + one.value, 0);
    if (isTop && this.from > 0) {
      const first = this.from - 1;
      const [shown, rest] = [children.slice(first, first + PAGE), children.slice(first + PAGE)];
      const room = rest.length ? width - NEXT : width;
      return { shown, rest, first, unit: room / Math.max(sum(shown), 1), narrow: NEXT };
    }
    const unit = width / Math.max(node.value, sum(children), 1);
    const least = 100 * NARROWEST / Math.max(this.place.clientWidth, 300);
    const wide = children.findIndex((one) => one.value * unit < least);
    // One alone has nobody to be one with.
    const cut = wide < 0 || children.length - wide === 1 ? children.length : wide;
    const rest = children.slice(cut);
    return { shown: children.slice(0, cut), rest, first: 0, unit, narrow: sum(rest) * unit };
  }

  /** How many boxes below a node bear the words, and their time; what is inside of one that does counts once. */
  hits(node, words, inHit = false) {
    const isHit = words !== '' && node.name.toLowerCase().includes(words);
    const found = { count: Number(isHit), value: isHit && !inHit ? node.value : 0 };
    for (const one of node.children.values()) {
      if (one.value <= 0) continue;
      const inner = this.hits(one, words, inHit || isHit);
      found.count += inner.count;
      found.value += inner.value;
    }
    return found;
  }

  draw() {
    const root = this.tree();
    const top = (this.zoomed && this.find(root, this.zoomed)) || root;
    if (top === root) this.zoomed = '';
    if (this.from > top.children.size) this.from = 0;
    // Inside of the steps shares are of these.
    const isInside = this.home !== '' && (top.key === this.home || top.key.startsWith(`${this.home}/`));
    const base = (isInside && !this.inverted && this.find(root, this.home)) || root;
    const words = this.words.trim().toLowerCase();
    const boxes = [];
    let depth = 0;
    const add = (look, label, name, [left, width, level], onclick) => {
      depth = Math.max(depth, level);
      const box = element('button', { type: 'button', class: `box ${look}${width > 3 ? '' : ' bare'}`, title: label, 'aria-label': label, tabindex: boxes.length ? -1 : 0, onclick }, width > 3 ? name : '');
      Object.assign(box.style, { left: `${left}%`, width: `${width}%`, top: `${level * 1.6}rem` });
      boxes.push(box);
    };
    const marked = (isHit) => (isHit ? ' hit' : words ? ' miss' : '');
    const lay = (node, left, width, level) => {
      if (width < 0.02) return;
      const isHit = words !== '' && node.name.toLowerCase().includes(words);
      const share = base.value > 0 ? node.value / base.value : 0;
      const own = this.inverted ? '' : `, itself ${this.unit(node.own)}`;
      const name = node.name || NO_NAME;
      const label = node === root ? `all, ${this.unit(node.value)}` : `${isolated(name)}, ${this.unit(node.value)}${own}, ${percent(share)} of ${isolated(base.name || NO_NAME)}`;
      add(`${node === root ? 'plain' : this.color(node.phase)}${marked(isHit)}`, label, name, [left, width, level], () => this.zoom(node.key));
      const { shown, rest, first, unit, narrow } = this.parts(node, width, node === top);
      let at = left;
      for (const one of shown) {
        lay(one, at, one.value * unit, level + 1);
        at += one.value * unit;
      }
      if (!rest.length || narrow < 0.02) return;
      const more = `${wholeNumber(rest.length)} more`;
      const time = this.unit(rest.reduce((sum, one) => sum + one.value, 0));
      const next = node === top ? first + shown.length + 1 : 0;
      add(`more plain${marked(words !== '' && rest.some((one) => this.hits(one, words).count))}`, `${more} in ${name}, ${time} together`, more, [at, narrow, level + 1], () => this.zoom(node.key, next));
    };
    lay(top, 0, 100, 0);
    this.place.style.height = `${(depth + 1) * 1.6}rem`;
    this.place.replaceChildren(...boxes);
    const hits = this.hits(top, words);
    const found = words ? `${wholeNumber(hits.count)} found, ${percent(base.value > 0 ? hits.value / base.value : 0)} of ${base.name || NO_NAME}. ` : '';
    const page = this.from ? `, children ${wholeNumber(this.from)} to ${wholeNumber(Math.min(this.from + PAGE - 1, top.children.size))} of ${wholeNumber(top.children.size)} ${this.order}` : '';
    this.said.textContent = `${found}${top === root ? this.all : `Inside ${namedPath(top.key)}`}${page}. Arrow keys move, Enter zooms, Escape shows all.`;
  }
}
