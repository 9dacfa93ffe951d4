// The table of sections: sorted by any column, filtered by words and phase. Exact values come from its figures.

/** A path of names, which may break behind its slashes and nowhere else. */
function codePath(path) {
  const shown = shortened(path);
  const parts = shown.split(/(?<=\/)/).flatMap((part) => [part, document.createElement('wbr')]);
  return element('code', { class: 'path', title: shown === path ? null : path }, ...parts);
}

/** Rows of the sections that are in the data only, as the document would hold them. */
function moreSections() {
  let rows;
  try {
    rows = pageHeader().sections ?? [];
  } catch {
    // What is wrong with the data is said where the plots are read.
    return [];
  }
  const share = (value) => percent(value);
  const units = [wholeNumber, duration, duration, duration, duration, duration, share, byteSize, byteSize, wholeNumber];
  // The time of its own is in one of two places, of which the head of the column names the first.
  const OWN = 2;
  return rows.map(([at, path, phase, kind, own, figures]) => {
    const cells = units.map((unit, column) => {
      const value = figures[column];
      const place = column === OWN && own !== 'self_ns' ? own : null;
      return element('td', {}, value === null ? element('span', { class: 'none', title: 'not known' }, '–')
        : element('data', { value, 'data-at': place }, unit(value)));
    });
    return element('tr', { 'data-at': `sections/${at}`, 'data-path': path, 'data-kind': kind },
      element('th', { scope: 'row' }, codePath(namedPath(path))),
      element('td', { class: 't' }, phase ? element('code', {}, phase) : ''), ...cells);
  });
}

/** Rows of a long table that are shown at first. */
const FIRST_ROWS = 50;

/** Shows the first rows of a table in its present order, and a button for all of them. Paper has all. */
class LongTable {
  constructor(table, changed = () => {}) {
    Object.assign(this, { table, isAll: false });
    this.button = element('button', { type: 'button', onclick: () => { this.isAll = !this.isAll; this.update(); changed(); } });
    table.closest('.scroll').after(element('p', { class: 'tools' }, this.button));
    this.update();
  }

  update() {
    const rows = [...this.table.tBodies[0].rows].filter((row) => !row.hidden);
    rows.forEach((row, at) => row.classList.toggle('later', !this.isAll && at >= FIRST_ROWS));
    this.button.textContent = this.isAll ? `Show the first ${FIRST_ROWS} only` : `Show all ${wholeNumber(rows.length)} rows`;
    this.button.parentElement.hidden = rows.length <= FIRST_ROWS;
  }
}

class SectionTable {
  constructor(changed) {
    this.table = document.getElementById('section-table');
    if (!this.table) return;
    this.changed = changed;
    this.table.tBodies[0].append(...moreSections());
    document.getElementById('section-more')?.remove();
    this.rows = [...this.table.tBodies[0].rows];
    for (const row of this.rows) {
      // What is shown is the path, where the row does not say another one.
      row.dataset.path ??= row.cells[0].textContent;
      row.dataset.phase = row.cells[1].textContent;
    }
    this.order = null;
    this.said = document.getElementById('section-said');
    const tools = document.getElementById('section-tools');
    this.words = element('input', { type: 'search', id: 'section-filter', oninput: () => this.filter() });
    const phases = [...new Set(this.rows.map((row) => row.dataset.phase).filter(Boolean))].sort();
    this.phase = element('select', { id: 'section-phase', onchange: () => this.filter() },
      element('option', { value: '' }, 'all phases'), ...phases.map((phase) => element('option', { value: phase }, phase)));
    tools.append(element('label', {}, 'Filter sections ', this.words), element('label', {}, 'Phase ', this.phase));
    tools.hidden = false;
    [...this.table.tHead.rows[0].cells].forEach((cell, column) => {
      const button = element('button', { type: 'button', onclick: () => this.sort(column) }, cell.textContent);
      cell.replaceChildren(button);
    });
    this.long = new LongTable(this.table, () => this.changed());
    this.filter(false);
  }

  /** What a row is sorted by: numbers before what is not known. */
  static key(row, column) {
    const cell = row.cells[column];
    const figure = cell.querySelector('data');
    if (figure) return Number(figure.value);
    return cell.matches('td:not(.t)') ? null : cell.textContent;
  }

  sort(column, descending) {
    const heads = [...this.table.tHead.rows[0].cells];
    if (!(column in heads)) return;
    const wasDown = heads[column].getAttribute('aria-sort') === 'descending';
    const isFigure = heads[column].classList.contains('n');
    const down = descending ?? (heads[column].hasAttribute('aria-sort') ? !wasDown : isFigure);
    heads.forEach((head) => head.removeAttribute('aria-sort'));
    heads[column].setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const keyed = this.rows.map((row) => [SectionTable.key(row, column), row]);
    keyed.sort(([a, first], [b, second]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      const less = a < b ? -1 : a > b ? 1 : 0;
      return (down ? -less : less) || (first.dataset.path < second.dataset.path ? -1 : 1);
    });
    this.table.tBodies[0].append(...keyed.map(([, row]) => row));
    this.order = [column, down];
    this.long.update();
    this.changed();
  }

  filter(isChange = true) {
    const words = this.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of this.rows) {
      const path = row.dataset.path.toLowerCase();
      const fits = words.every((word) => path.includes(word)) && (!this.phase.value || row.dataset.phase === this.phase.value);
      row.hidden = !fits;
      shown += fits;
    }
    this.long.update();
    this.said.textContent = `${wholeNumber(shown)} of ${wholeNumber(this.rows.length)} sections`;
    if (isChange) this.changed();
  }

  /** Shows what an address says. */
  restore(address) {
    this.words.value = address.get('filter') ?? '';
    this.phase.value = address.get('phase') ?? '';
    if (this.phase.selectedIndex < 0) this.phase.value = '';
    this.long.isAll = address.has('all');
    const sort = /^(\d+)([ad])$/.exec(address.get('sort') ?? '');
    if (sort) this.sort(Number(sort[1]), sort[2] === 'd');
    else if (this.order) this.unsort();
    this.filter(false);
  }

  /** The order of the document. */
  unsort() {
    this.table.tHead.querySelector('[aria-sort]')?.removeAttribute('aria-sort');
    this.table.tBodies[0].append(...this.rows);
    this.order = null;
  }

  /** Shows one section, as a finding names it. */
  find(path) {
    this.words.value = path;
    this.phase.value = '';
    this.filter();
  }
}


/** Marks what scrolls sideways and has more to the right. */
function markOverflow(place) {
  const mark = () => place.classList.toggle('more', place.scrollLeft + place.clientWidth < place.scrollWidth - 1);
  place.addEventListener('scroll', mark, { passive: true });
  new ResizeObserver(mark).observe(place);
}

/** A table that scrolls sideways, and can be reached by the keyboard. */
function scrolling(label, table) {
  const place = element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label }, table);
  markOverflow(place);
  return place;
}
