// A step as a waterfall: its spans by thread, children below their parents, the critical path marked. Which step is
// shown, and which part of it, is chosen by buttons, by dragging and by keys, and is in the address.

/** The steps kept, from the columns. */
function examplesOf({ columns, texts, examples }) {
  return examples.map((header, at) => {
    const get = (name) => columns.get(`example-${at}_${name}`);
    const known = (name, row) => (Number.isNaN(get(name)[row]) ? null : get(name)[row]);
    const text = (name, row) => (known(name, row) === null ? '' : texts[get(name)[row]]);
    // What no number here holds exactly is absent, and beyond every step.
    const time = (name, row) => known(name, row) ?? Infinity;
    // Offsets have either sign.
    const signed = (value) => (value % 2 === 0 || value === Infinity ? value / 2 : -(value + 1) / 2);
    const running = [...get('name')].map(() => []);
    [...get('run_span')].forEach((span, row) => running[span]?.push({ offset: signed(time('run_offset', row)), duration: time('run_duration', row) }));
    const spans = [...get('name')].map((_, row) => {
      return {
        row,
        name: text('name', row),
        phase: text('phase', row),
        lane: get('lane')[row],
        line: get('row')[row],
        offset: signed(time('offset', row)),
        duration: time('duration', row),
        critical: time('critical', row),
        error: get('error')[row] === 1,
        produce: known('produce', row),
        queue: known('queue', row),
        batch: text('batch', row),
        running: running[row],
      };
    });
    const pieces = [...get('piece_span')].map((span, row) => ({
      span, offset: time('piece_offset', row), duration: time('piece_duration', row),
    }));
    return { ...header, at, listed: spans, pieces };
  });
}

/** What a lane is called: many threads have names that say what they are. */
const threadWords = (name) => (/^thread\b/i.test(name) ? name : `thread ${name}`);

class Waterfall {
  constructor(examples, changed) {
    this.figure = document.getElementById('plot-waterfall');
    if (!this.figure || !examples.length) return;
    Object.assign(this, { examples, changed, color: phaseColors() });
    this.graph = document.getElementById('waterfall-graph');
    this.said = document.getElementById('waterfall-said');
    this.graph.hidden = false;
    this.figure.querySelector('.still').hidden = true;
    this.tools(document.getElementById('waterfall-tools'));
    this.graph.addEventListener('keydown', (event) => this.key(event));
    this.drag();
  }

  tools(place) {
    // Steps of the mode that the report is about stand first; those of others are many, and seldom looked for.
    const group = (label) => element('div', { class: 'steps', role: 'group', 'aria-label': label });
    const steps = group('Step that is shown');
    const others = group('Steps of other modes');
    this.others = element('details', { class: 'steps' }, element('summary', {}, 'Steps of other modes'), others);
    this.buttons = this.examples.map((example) => {
      const button = element('button', { type: 'button', 'aria-pressed': 'false', onclick: () => { this.show(example.at, null); this.changed(); } }, example.title);
      (example.primary ? steps : others).append(button);
      return button;
    });
    if (others.childElementCount) steps.append(this.others);
    const tool = (label, act) => element('button', { type: 'button', onclick: () => { act(); this.changed(); } }, label);
    const zoom = (factor, shift) => () => {
      const [from, to] = this.part;
      const middle = (from + to) / 2 + shift * (to - from);
      const half = (to - from) * factor / 2;
      this.look(middle - half, middle + half);
    };
    place.append(steps, tool('Zoom in', zoom(0.5, 0)), tool('Zoom out', zoom(2, 0)),
      tool('Earlier', zoom(1, -0.5)), tool('Later', zoom(1, 0.5)), tool('Whole step', () => this.look(0, Infinity)));
    place.hidden = false;
  }

  /** Shows a step, all of it or a part. */
  show(at, part) {
    this.shown = this.examples[at] ?? this.examples[Number(this.figure.dataset.example)] ?? this.examples[0];
    this.buttons.forEach((button, row) => button.setAttribute('aria-pressed', String(row === this.shown.at)));
    if (!this.shown.primary) this.others.open = true;
    document.getElementById('waterfall-title').textContent =
      `${this.shown.title}, ${wholeNumber(this.shown.listed.length)} of ${wholeNumber(this.shown.spans)} spans`;
    this.table();
    this.look(...(part ?? [0, Infinity]));
  }

  /** Shows what an address says. */
  restore(address) {
    const part = (address.get('part') ?? '').split('-').map(Number);
    const isPart = address.has('example') && part.length === 2 && part.every(Number.isFinite);
    this.show(address.has('example') ? Number(address.get('example')) : Number(this.figure.dataset.example), isPart ? part : null);
  }

  /** Shows the part of the step from one time to another. */
  look(from, to) {
    const whole = Math.max(this.shown.duration, 1);
    const length = Math.min(Math.max(Number.isFinite(to - from) ? to - from : whole, 1), whole);
    const start = Math.min(Math.max(Number.isFinite(from) ? from : 0, 0), whole - length);
    this.part = [Math.round(start), Math.round(start + length)];
    this.draw();
  }

  isWhole() {
    return this.part[0] === 0 && this.part[1] >= this.shown.duration;
  }

  /** What is known of a span, in words. */
  words(span) {
    const { lanes } = this.shown;
    const parts = [isolated(span.name), duration(span.duration)];
    if (Number.isFinite(span.offset)) parts.push(`begins after ${span.offset < 0 ? '−' : ''}${duration(Math.abs(span.offset))}`);
    if (span.phase) parts.push(`phase ${span.phase}`);
    if (lanes.length > 1) parts.push(`on ${isolated(threadWords(lanes[span.lane]))}`);
    parts.push(span.critical > 0 ? `on the critical path for ${duration(span.critical)}` : 'not on the critical path');
    if (span.produce !== null) parts.push(`its batch was made in ${duration(span.produce)}`);
    if (span.queue !== null) parts.push(`which lay in the queue for ${duration(span.queue)}`);
    if (span.running.length) {
      const ran = span.running.reduce((sum, run) => sum + run.duration, 0);
      parts.push(`ran for ${duration(ran)} in ${span.running.length} ${span.running.length === 1 ? 'part' : 'parts'} and was suspended otherwise`);
    }
    if (span.error) parts.push('ended with an error');
    return parts.join(', ');
  }

  draw() {
    const { listed, lanes, rows, pieces, makings } = this.shown;
    const [from, to] = this.part;
    const x = (time) => Math.min(Math.max((time - from) / Math.max(to - from, 1), 0), 1) * 100;
    const inside = (offset, length) => offset < to && offset + length > from;
    const made = [];
    const put = (node, left, top, width) => {
      Object.assign(node.style, { left: `${left}%`, top: `${top}rem` }, width === undefined ? {} : { width: `${width}%` });
      made.push(node);
    };
    for (const part of [0, 0.25, 0.5, 0.75]) {
      if (part > 0) put(element('span', { class: 'at' }), part * 100, 0);
      put(element('span', { class: part === 0.25 || part === 0.75 ? 'time odd' : 'time' }, duration(from + part * (to - from))), part * 100, 0);
    }
    made.push(element('span', { class: 'time last' }, duration(to)));
    const tops = [];
    let top = 1.4;
    lanes.forEach((name, lane) => {
      put(element('span', { class: 'lane' }, threadWords(name)), 0, top);
      tops.push(top + 1.4);
      top += 1.4 + rows[lane] * 1.8;
    });
    if (makings.length) {
      put(element('span', { class: 'lane' }, 'loaders: batches that were waited for'), 0, top);
      for (const one of makings.filter((making) => inside(making.offset, making.duration))) {
        const left = x(one.offset);
        const width = Math.max(x(one.offset + one.duration) - left, 0.1);
        put(element('span', { class: `making ${this.color('data_loading')}`, role: 'img', title: one.words, 'aria-label': one.words }, width > 3 ? 'batch' : ''), left, top + 1.4 + one.row * 1.8, width);
      }
      top += 1.4 + Math.max(...makings.map((one) => one.row + 1)) * 1.8;
    }
    const y = (span) => (tops[span.lane] ?? 1.4) + span.line * 1.8;
    let first = true;
    for (const span of listed.filter((one) => inside(one.offset, Math.max(one.duration, 1)))) {
      const left = x(span.offset);
      const width = Math.max(x(span.offset + span.duration) - left, 0.1);
      const words = this.words(span);
      const box = element('button', { type: 'button', class: `box ${this.color(span.phase)}${span.error ? ' error' : ''}${width > 3 ? '' : ' thin'}`, title: words, 'aria-label': words, 'data-span': span.row, tabindex: first ? 0 : -1, onclick: () => this.into(span), onfocus: () => { this.said.textContent = words; } }, width > 3 ? span.name : '');
      first = false;
      if (span.running.length && width > 0.2) {
        // What is between the intervals is light: a sheet lies over the colour there.
        const share = (time) => ((x(time) - left) / width * 100).toFixed(2);
        const stops = span.running.flatMap((run) => [`var(--sheet) ${share(run.offset)}%`, `transparent ${share(run.offset)}%`, `transparent ${share(run.offset + run.duration)}%`, `var(--sheet) ${share(run.offset + run.duration)}%`]);
        box.style.backgroundImage = `linear-gradient(to right, ${stops.join(', ')})`;
      }
      put(box, left, y(span), width);
    }
    for (const piece of pieces.filter((one) => inside(one.offset, one.duration))) {
      const span = listed[piece.span];
      if (!span) continue;
      const left = x(piece.offset);
      put(element('span', { class: 'path', 'aria-hidden': 'true' }), left, y(span) + 1.5, Math.max(x(piece.offset + piece.duration) - left, 0.1));
    }
    this.brush = element('span', { class: 'brushed', hidden: '' });
    made.push(this.brush);
    this.graph.style.height = `${top + 0.4}rem`;
    this.graph.replaceChildren(...made);
    const part = this.isWhole() ? 'The whole step' : `From ${duration(from)} to ${duration(to)} of the step`;
    this.said.textContent = `${part}. Arrow keys move between spans, Enter zooms to one, Escape shows the whole step.`;
  }

  /** Zooms to a span. */
  into(span) {
    if (this.dragged) return;
    this.look(span.offset, span.offset + Math.max(span.duration, 1));
    this.graph.querySelector(`[data-span="${span.row}"]`)?.focus();
    this.changed();
  }

  key(event) {
    if (event.key !== 'Escape') return moveAmong(this.graph, event);
    const row = document.activeElement.dataset?.span;
    this.look(0, Infinity);
    this.graph.querySelector(`[data-span="${row}"]`)?.focus();
    this.changed();
    return undefined;
  }

  /** Zooming by dragging. */
  drag() {
    let start = null;
    const share = (event) => {
      const box = this.graph.getBoundingClientRect();
      return Math.min(Math.max((event.clientX - box.left) / Math.max(box.width, 1), 0), 1);
    };
    this.graph.addEventListener('pointerdown', (event) => { start = share(event); this.dragged = false; });
    this.graph.addEventListener('pointermove', (event) => {
      if (start === null) return;
      const here = share(event);
      this.dragged = this.dragged || Math.abs(here - start) > 0.01;
      this.brush.hidden = !this.dragged;
      Object.assign(this.brush.style, { left: `${Math.min(start, here) * 100}%`, width: `${Math.abs(here - start) * 100}%` });
    });
    window.addEventListener('pointerup', (event) => {
      if (start === null) return;
      const [low, high] = [start, share(event)].sort((a, b) => a - b);
      start = null;
      this.brush.hidden = true;
      if (!this.dragged) return;
      const [from, to] = this.part;
      this.look(from + low * (to - from), from + high * (to - from));
      this.changed();
      // The click that follows is the end of the dragging, not a click on a box.
      setTimeout(() => { this.dragged = false; }, 0);
    });
  }

  /** The spans in words. */
  table() {
    const { at, listed, lanes } = this.shown;
    const titles = [['Section'], ['Phase'], ['Thread'], ['Begins after', 'offset_ns'], ['Time', 'duration_ns'], ['On the critical path', 'critical_ns'], ['Batch']];
    const head = element('tr', {}, ...titles.map(([title, place]) => element('th', { scope: 'col', class: place && 'n', 'data-at': place }, title)));
    const rows = listed.map((span) => {
      const figure = (value, words, place) => element('data', { value, 'data-at': place }, words);
      const time = (value, place) => (Number.isFinite(value) ? figure(value, duration(value), place) : '–');
      const cell = (...children) => element('td', { class: 't' }, ...children);
      const number = (child) => element('td', {}, child);
      const batch = span.produce === null && span.queue === null && !span.batch ? [] : [
        'made in ', time(span.produce, 'batch/produce_ns'), ', in the queue for ', time(span.queue, 'batch/queue_ns'),
        ', trace ', span.batch ? element('code', {}, span.batch) : '–'];
      return element('tr', { 'data-at': `exemplars/${at}/spans/${span.row}` },
        element('th', { scope: 'row' }, codePath(span.name)),
        cell(span.phase ? element('code', {}, span.phase) : ''), cell(lanes[span.lane] ?? ''),
        number(Number.isFinite(span.offset) ? figure(span.offset, `${span.offset < 0 ? '−' : ''}${duration(Math.abs(span.offset))}`) : '–'),
        number(time(span.duration)), number(time(span.critical)), element('td', { class: 'wide' }, ...batch));
    });
    const table = element('table', {}, element('caption', {}, this.shown.title), element('thead', {}, head), element('tbody', {}, ...rows));
    document.querySelector('#waterfall-rows > div').replaceChildren(scrolling('Spans of the step', table));
  }
}
