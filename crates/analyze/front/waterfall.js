// A step as a waterfall: its spans by thread, children below their parents, the critical path marked. Which step is
// shown, and which part of it, is chosen by buttons, by dragging and by keys, and is in the address.

/** What a lane is called: many threads have names that say what they are. */
const threadWords = (name) => (/^thread\b/i.test(name) ? name : `thread ${name}`);

/** A time that can lie before the step. */
const signedTime = (ns) => `${ns < 0 ? '−' : ''}${duration(Math.abs(ns))}`;

class Waterfall {
  constructor(examples, changed) {
    this.graph = document.getElementById('waterfall-graph');
    if (!this.graph || !examples.length) return;
    Object.assign(this, { examples, changed, color: phaseColors() });
    for (const [at, example] of examples.entries()) {
      example.at = at;
      example.spans.forEach((span, place) => { span.at = place; });
    }
    // The median step says most about the run; where there is none, the first.
    const primary = examples.filter((example) => example.primary);
    this.first = (primary.find((example) => example.roles.includes('median')) ?? primary[0] ?? examples[0]).at;
    this.said = document.getElementById('waterfall-said');
    this.graph.hidden = false;
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
    this.shown = this.examples[at] ?? this.examples[this.first];
    this.buttons.forEach((button, row) => button.setAttribute('aria-pressed', String(row === this.shown.at)));
    if (!this.shown.primary) this.others.open = true;
    this.table();
    this.look(...(part ?? [0, Infinity]));
  }

  /** Shows what an address says. */
  restore(address) {
    const part = (address.get('part') ?? '').split('-').map(Number);
    const isPart = address.has('example') && part.length === 2 && part.every(Number.isFinite);
    this.show(address.has('example') ? Number(address.get('example')) : this.first, isPart ? part : null);
  }

  /** Shows the part of the step from one time to another. */
  look(from, to) {
    const whole = Math.max(this.shown.duration_ns, 1);
    const length = Math.min(Math.max(Number.isFinite(to - from) ? to - from : whole, 1), whole);
    const start = Math.min(Math.max(Number.isFinite(from) ? from : 0, 0), whole - length);
    this.part = [Math.round(start), Math.round(start + length)];
    this.draw();
  }

  isWhole() {
    return this.part[0] === 0 && this.part[1] >= this.shown.duration_ns;
  }

  /** What is known of a span, in words. */
  words(span) {
    const { lanes } = this.shown;
    const parts = [isolated(span.name), duration(span.duration_ns), `begins after ${signedTime(span.offset_ns)}`];
    if (span.phase) parts.push(`phase ${span.phase}`);
    if (lanes.length > 1) parts.push(`on ${isolated(threadWords(lanes[span.lane]))}`);
    parts.push(span.critical_ns > 0 ? `on the critical path for ${duration(span.critical_ns)}` : 'not on the critical path');
    const { produce_ns: produce, queue_ns: queue } = span.batch ?? {};
    if (Number.isFinite(produce)) parts.push(`its batch was made in ${duration(produce)}`);
    if (Number.isFinite(queue)) parts.push(`which lay in the queue for ${duration(queue)}`);
    if (span.running.length) {
      const ran = span.running.reduce((sum, run) => sum + run.duration_ns, 0);
      parts.push(`ran for ${duration(ran)} in ${span.running.length} ${span.running.length === 1 ? 'part' : 'parts'} and was suspended otherwise`);
    }
    if (span.is_error) parts.push('ended with an error');
    return parts.join(', ');
  }

  draw() {
    const { spans, lanes, rows, critical_path: pieces, makings } = this.shown;
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
    const y = (span) => (tops[span.lane] ?? 1.4) + span.row * 1.8;
    let first = true;
    for (const span of spans.filter((one) => inside(one.offset_ns, Math.max(one.duration_ns, 1)))) {
      const left = x(span.offset_ns);
      const width = Math.max(x(span.offset_ns + span.duration_ns) - left, 0.1);
      const words = this.words(span);
      const box = element('button', { type: 'button', class: `box ${this.color(span.phase)}${span.is_error ? ' error' : ''}${width > 3 ? '' : ' thin'}`, title: words, 'aria-label': words, 'data-span': span.at, tabindex: first ? 0 : -1, onclick: () => this.into(span), onfocus: () => { this.said.textContent = words; } }, width > 3 ? span.name : '');
      first = false;
      if (span.running.length && width > 0.2) {
        // What is between the intervals is light: a sheet lies over the colour there.
        const share = (time) => ((x(time) - left) / width * 100).toFixed(2);
        const stops = span.running.flatMap((run) => [`var(--sheet) ${share(run.offset_ns)}%`, `transparent ${share(run.offset_ns)}%`, `transparent ${share(run.offset_ns + run.duration_ns)}%`, `var(--sheet) ${share(run.offset_ns + run.duration_ns)}%`]);
        box.style.backgroundImage = `linear-gradient(to right, ${stops.join(', ')})`;
      }
      put(box, left, y(span), width);
    }
    for (const piece of pieces.filter((one) => inside(one.offset_ns, one.duration_ns))) {
      const span = spans[piece.span];
      if (!span) continue;
      const left = x(piece.offset_ns);
      put(element('span', { class: 'path', 'aria-hidden': 'true' }), left, y(span) + 1.5, Math.max(x(piece.offset_ns + piece.duration_ns) - left, 0.1));
    }
    this.brush = element('span', { class: 'brushed', hidden: '' });
    made.push(this.brush);
    this.graph.style.height = `${top + 0.4}rem`;
    this.graph.replaceChildren(...made);
    const part = this.isWhole() ? 'The whole step' : `From ${duration(from)} to ${duration(to)} of the step`;
    const shown = `${this.shown.title}, ${wholeNumber(spans.length)} of ${wholeNumber(this.shown.spans_in_step)} spans`;
    this.said.textContent = `Shown is ${shown}. ${part}. Arrow keys move between spans, Enter zooms to one, Escape shows the whole step.`;
  }

  /** Zooms to a span. */
  into(span) {
    if (this.dragged) return;
    this.look(span.offset_ns, span.offset_ns + Math.max(span.duration_ns, 1));
    this.graph.querySelector(`[data-span="${span.at}"]`)?.focus();
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
    const { at, spans, lanes } = this.shown;
    const titles = [['Section'], ['Phase'], ['Thread'], ['Begins after', 'offset_ns'], ['Time', 'duration_ns'], ['On the critical path', 'critical_ns'], ['Batch']];
    const head = element('tr', {}, ...titles.map(([title, place]) => element('th', { scope: 'col', class: place && 'n', 'data-at': place }, title)));
    const rows = spans.map((span) => {
      const time = (value, place, words = duration) => (Number.isFinite(value) ? element('data', { value, 'data-at': place }, words(value)) : '–');
      const cell = (...children) => element('td', { class: 't' }, ...children);
      const { batch } = span;
      const made = batch ? [
        'made in ', time(batch.produce_ns, 'batch/produce_ns'), ', in the queue for ', time(batch.queue_ns, 'batch/queue_ns'),
        ', trace ', batch.trace_id ? element('code', {}, batch.trace_id) : '–'] : [];
      return element('tr', { 'data-at': `exemplars/${at}/spans/${span.at}` },
        element('th', { scope: 'row' }, codePath(span.name)),
        cell(span.phase ? element('code', {}, span.phase) : ''), cell(lanes[span.lane] ?? ''),
        element('td', {}, time(span.offset_ns, undefined, signedTime)), element('td', {}, time(span.duration_ns)), element('td', {}, time(span.critical_ns)),
        element('td', { class: 'wide' }, ...made));
    });
    const table = element('table', {}, element('caption', {}, this.shown.title), element('thead', {}, head), element('tbody', {}, ...rows));
    document.querySelector('#waterfall-rows > div').replaceChildren(scrolling('Spans of the step', table));
  }
}
