// The flame graph: boxes of the document, so that text is text and every box can be reached. Its figures are those of
// the table of sections. Zoom into a box, search, time of all calls or own time only, callers below callees.

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

/** The time of all calls in a row of the table of sections. */
const totalOf = (row) => Number(row.cells[3].querySelector('data')?.value ?? 0);

class Flame {
  constructor(rows, changed) {
    Object.assign(this, { changed, zoomed: '', words: '', own: false, inverted: false });
    const skipped = new Set(['run', 'epoch']);
    this.sections = rows.filter((row) => !skipped.has(row.dataset.kind)).map((row) => ({
      names: namesOf(row.dataset.path),
      total: totalOf(row),
      own: Number(row.cells[4].querySelector('data')?.value ?? 0),
      phase: row.dataset.phase,
    }));
    // What comes first is the step: beside it lie loaders that wait, and what the program does once.
    const steps = rows.filter((row) => row.dataset.kind === 'step').sort((a, b) => totalOf(b) - totalOf(a));
    this.home = this.zoomed = steps[0]?.dataset.path ?? '';
    this.place = document.getElementById('flame-graph');
    this.said = document.getElementById('flame-said');
    this.color = phaseColors();
    this.tools(document.getElementById('flame-tools'));
    this.place.hidden = false;
    this.place.addEventListener('keydown', (event) => (event.key === 'Escape' ? this.zoom('') : moveAmong(this.place, event)));
  }

  tools(place) {
    this.search = element('input', { type: 'search', id: 'flame-search', oninput: () => { this.words = this.search.value; this.draw(); this.changed(); } });
    const box = (label, name) => {
      const input = element('input', { type: 'checkbox', onchange: () => { this[name] = input.checked; this.zoomed = this.inverted ? '' : this.home; this.draw(); this.changed(); } });
      place.append(element('label', {}, input, ` ${label}`));
      return input;
    };
    place.append(element('label', {}, 'Search ', this.search));
    this.ownBox = box('own time only', 'own');
    this.invertedBox = box('callers below callees', 'inverted');
    place.append(element('button', { type: 'button', onclick: () => this.zoom('') }, 'Show all'));
    place.hidden = false;
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

  zoom(key) {
    this.zoomed = key;
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

  draw() {
    const root = this.tree();
    const top = (this.zoomed && this.find(root, this.zoomed)) || root;
    if (top === root) this.zoomed = '';
    // Inside of the steps shares are of these.
    const isInside = this.home !== '' && (top.key === this.home || top.key.startsWith(`${this.home}/`));
    const base = (isInside && !this.inverted && this.find(root, this.home)) || root;
    const words = this.words.trim().toLowerCase();
    const boxes = [];
    let depth = 0;
    let hits = 0;
    let hitValue = 0;
    const lay = (node, left, width, level, inHit) => {
      if (width < 0.02) return;
      depth = Math.max(depth, level);
      const isHit = words !== '' && node.name.toLowerCase().includes(words);
      if (isHit) {
        hits += 1;
        if (!inHit) hitValue += node.value;
      }
      const share = base.value > 0 ? node.value / base.value : 0;
      const own = this.inverted ? '' : `, itself ${duration(node.own)}`;
      const label = node === root ? `all, ${duration(node.value)}` : `${node.name}, ${duration(node.value)}${own}, ${percent(share)} of ${base.name}`;
      const box = element('button', { type: 'button', class: `box ${node === root ? 'plain' : this.color(node.phase)}${isHit ? ' hit' : words ? ' miss' : ''}`, title: label, 'aria-label': label, tabindex: boxes.length ? -1 : 0, onclick: () => this.zoom(node.key) }, width > 3 ? node.name : '');
      Object.assign(box.style, { left: `${left}%`, width: `${width}%`, top: `${level * 1.6}rem` });
      boxes.push(box);
      const children = [...node.children.values()].sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1));
      const all = Math.max(node.value, children.reduce((sum, one) => sum + one.value, 0), 1);
      let at = left;
      for (const one of children) {
        const part = width * one.value / all;
        lay(one, at, part, level + 1, inHit || isHit);
        at += part;
      }
    };
    lay(top, 0, 100, 0, false);
    this.place.style.height = `${(depth + 1) * 1.6}rem`;
    this.place.replaceChildren(...boxes);
    const found = words ? `${wholeNumber(hits)} found, ${percent(base.value > 0 ? hitValue / base.value : 0)} of ${base.name}. ` : '';
    this.said.textContent = `${found}${top === root ? 'All sections' : `Inside ${top.key}`}. Arrow keys move, Enter zooms, Escape shows all.`;
  }
}
