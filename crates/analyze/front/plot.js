// Plots over step numbers: drawn again at every zoom from at most 400 buckets of smallest, mean and largest. All plots
// show the same steps. Zooming is dragging, or two sliders; a third moves the cursor, whose figures are said in words.

const PLOT = { width: 800, height: 220, left: 74, right: 12, top: 10, bottom: 28, buckets: 400 };

/** Rows whose step is within a range; both ends included. */
function rowsWithin(steps, [from, to]) {
  const below = (limit) => {
    let [low, high] = [0, steps.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (steps[middle] < limit) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return [below(from), below(to + 1)];
}

/** Merges rows `from..to` of a line. */
function bucketsOf(line, steps, from, to) {
  const size = Math.max(1, Math.ceil((to - from) / PLOT.buckets));
  const merged = [];
  for (let start = from; start < to; start += size) {
    const bucket = { step: steps[start], low: Infinity, high: -Infinity, mean: 0 };
    let [sum, weights] = [0, 0];
    for (let row = start; row < Math.min(start + size, to); row += 1) {
      if (Number.isNaN(line.mean[row])) continue;
      const weight = line.weight ? line.weight[row] : 1;
      bucket.low = Math.min(bucket.low, line.low[row]);
      bucket.high = Math.max(bucket.high, line.high[row]);
      sum += line.mean[row] * weight;
      weights += weight;
    }
    if (weights > 0) {
      bucket.mean = sum / weights;
      merged.push(bucket);
    }
  }
  return merged;
}

/** Round values from zero to `max`. */
function ticksTo(max, base) {
  if (!(max > 0)) return [0];
  const rough = max / 4;
  const unit = base ** Math.floor(Math.log(rough) / Math.log(base) + 1e-9);
  const magnitude = 10 ** Math.floor(Math.log10(rough / unit) + 1e-9);
  const size = [1, 2, 5, 10].map((step) => step * magnitude * unit).find((step) => step >= rough * 0.9999) ?? max;
  return [0, 1, 2, 3, 4, 5].map((n) => n * size).filter((tick) => tick <= max * 1.0001);
}

class Plot {
  constructor(figure, shown, zoom) {
    Object.assign(this, { figure, shown, zoom, logarithmic: false, cursor: null });
    this.drawing = figure.querySelector('.drawing');
    this.title = this.drawing.querySelector('svg')?.getAttribute('aria-label') ?? '';
    this.first = shown.steps[0];
    this.last = shown.steps[shown.steps.length - 1];
    this.tools(figure.querySelector('.tools'));
    this.table();
    this.drag();
  }

  /** The sliders and buttons. */
  tools(place) {
    const slider = (label, value, input) => {
      const range = element('input', { type: 'range', min: this.first, max: this.last, step: 1, value, oninput: input });
      place.append(element('label', {}, `${label} `, range));
      return range;
    };
    this.from = slider('From step', this.first, () => this.zoom.set(Number(this.from.value), Math.max(Number(this.from.value) + 1, this.zoom.range[1])));
    this.to = slider('to step', this.last, () => this.zoom.set(Math.min(Number(this.to.value) - 1, this.zoom.range[0]), Number(this.to.value)));
    this.pointer = slider('Look at step', this.first, () => this.look(Number(this.pointer.value)));
    if (!this.shown.free && !this.shown.areas) {
      const box = element('input', { type: 'checkbox', onchange: () => { this.logarithmic = box.checked; this.draw(); } });
      place.append(element('label', {}, box, ' logarithmic'));
    }
    place.append(element('button', { type: 'button', onclick: () => this.zoom.all() }, 'All steps'));
    this.said = element('output', { class: 'said', 'aria-live': 'polite' });
    place.append(this.said);
    place.hidden = false;
  }

  /** The figures in words, 50 rows a page, made when they are looked at. */
  table() {
    const place = element('div');
    const details = element('details', { class: 'rows' }, element('summary', {}, 'The figures as a table'), place);
    let page = 0;
    const show = () => {
      const [from, to] = rowsWithin(this.shown.steps, this.zoom.range);
      const pages = Math.max(1, Math.ceil((to - from) / 50));
      page = Math.min(Math.max(page, 0), pages - 1);
      const head = element('tr', {}, element('th', { scope: 'col' }, 'Step'));
      for (const [label] of this.shown.rows) head.append(element('th', { scope: 'col', class: 'n' }, label));
      const body = element('tbody');
      for (let row = from + page * 50; row < Math.min(to, from + (page + 1) * 50); row += 1) {
        const line = element('tr', {}, element('th', { scope: 'row' }, wholeNumber(this.shown.steps[row])));
        for (const [, values, unit] of this.shown.rows) {
          const value = values[row];
          line.append(element('td', { class: 'n' }, Number.isNaN(value) ? '–' : element('data', { value }, unit(value))));
        }
        body.append(line);
      }
      const turn = (by) => () => { page += by; show(); };
      place.replaceChildren(
        element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `${this.title}, figures` },
          element('table', {}, element('thead', {}, head), body)),
        element('p', { class: 'tools' },
          element('button', { type: 'button', onclick: turn(-1) }, 'Earlier'), ` page ${page + 1} of ${pages} `,
          element('button', { type: 'button', onclick: turn(1) }, 'Later')),
      );
    };
    details.addEventListener('toggle', () => { if (details.open) show(); });
    this.refresh = () => { if (details.open) show(); };
    this.figure.append(details);
  }

  /** Zooming by dragging over the drawing. */
  drag() {
    let start = null;
    const stepAt = (event) => {
      const box = this.drawing.getBoundingClientRect();
      const x = (event.clientX - box.left) / Math.max(box.width, 1) * PLOT.width;
      const share = (x - PLOT.left) / (PLOT.width - PLOT.left - PLOT.right);
      const [from, to] = this.zoom.range;
      return Math.round(from + Math.min(Math.max(share, 0), 1) * (to - from));
    };
    this.drawing.addEventListener('pointerdown', (event) => { start = stepAt(event); event.preventDefault(); });
    this.drawing.addEventListener('pointermove', (event) => {
      this.look(stepAt(event));
      if (start !== null) this.brush(start, stepAt(event));
    });
    window.addEventListener('pointerup', (event) => {
      if (start === null) return;
      const [from, to] = [start, stepAt(event)].sort((a, b) => a - b);
      start = null;
      this.brush(0, 0);
      if (to > from) this.zoom.set(from, to);
    });
    this.drawing.addEventListener('dblclick', () => this.zoom.all());
  }

  brush(from, to) {
    const [left, right] = [this.x(from), this.x(to)].sort((a, b) => a - b);
    this.box.setAttribute('x', left);
    this.box.setAttribute('width', from === to ? 0 : right - left);
  }

  x(step) {
    const [from, to] = this.zoom.range;
    return PLOT.left + (step - from) / Math.max(to - from, 1) * (PLOT.width - PLOT.left - PLOT.right);
  }

  /** Moves the cursor to a step, and says its figures. */
  look(step) {
    const { steps, lines, unit } = this.shown;
    const [at] = rowsWithin(steps, [step, step]);
    const row = Math.min(at, steps.length - 1);
    this.cursor = steps[row];
    const words = lines.map(({ label, low, mean, high, own }) => {
      if (own) return `${label} ${unit(own[row])}`;
      if (Number.isNaN(mean[row])) return `${label} not known`;
      const range = low[row] !== high[row] && !this.shown.areas ? ` (${unit(low[row])} to ${unit(high[row])})` : '';
      return `${label} ${unit(mean[row])}${range}`;
    });
    this.said.textContent = `Step ${wholeNumber(steps[row])}: ${words.join(', ')}`;
    this.pointer.value = steps[row];
    this.place();
  }

  place() {
    if (!this.hair) return;
    const [from, to] = this.zoom.range;
    const shown = this.cursor !== null && this.cursor >= from && this.cursor <= to;
    this.hair.setAttribute('visibility', shown ? 'visible' : 'hidden');
    if (shown) ['x1', 'x2'].forEach((name) => this.hair.setAttribute(name, this.x(this.cursor)));
  }

  draw() {
    const { steps, lines, unit, base, free } = this.shown;
    const [from, to] = rowsWithin(steps, this.zoom.range);
    const merged = lines.map((line) => bucketsOf(line, steps, from, to));
    // Areas of means lie one before the other, and reach to the mean alone.
    if (this.shown.areas) merged.flat().forEach((one) => { one.high = one.mean; });
    const all = merged.flat();
    let high = all.reduce((most, one) => Math.max(most, one.high), free ? -Infinity : 1);
    let low = free ? all.reduce((least, one) => Math.min(least, one.low), Infinity) : 0;
    if (!(high > low)) [low, high] = [Number.isFinite(low) ? low : 0, (Number.isFinite(low) ? low : 0) + 1];
    const floor = all.reduce((least, one) => (one.low > 0 ? Math.min(least, one.low) : least), high);
    const share = this.logarithmic
      ? (value) => Math.log(Math.max(value, floor) / floor) / Math.max(Math.log(high / floor), 1e-9)
      : (value) => (value - low) / (high - low);
    const y = (value) => PLOT.height - PLOT.bottom - Math.min(Math.max(share(value), 0), 1) * (PLOT.height - PLOT.top - PLOT.bottom);
    const svg = drawn('svg', { class: 'plot', viewBox: `0 0 ${PLOT.width} ${PLOT.height}`, role: 'img', 'aria-label': this.title });
    let ticks = free ? [low, (low + high) / 2, high] : ticksTo(high, base);
    if (this.logarithmic) ticks = [floor, Math.sqrt(floor * high), high];
    for (const tick of ticks) {
      const at = y(tick).toFixed(1);
      svg.append(drawn('line', { class: 'grid', x1: PLOT.left, x2: PLOT.width - PLOT.right, y1: at, y2: at }),
        drawn('text', { class: 'tick', x: PLOT.left - 6, y: Number(at) + 4, 'text-anchor': 'end' }, unit(tick)));
    }
    const [first, last] = this.zoom.range;
    for (const [step, anchor] of [[first, 'start'], [last, 'end']]) {
      svg.append(drawn('text', { class: 'tick', x: this.x(step), y: PLOT.height - 8, 'text-anchor': anchor }, `step ${wholeNumber(step)}`));
    }
    lines.forEach((line, at) => {
      const point = (key) => (one) => `${this.x(one.step).toFixed(1)},${y(one[key]).toFixed(1)}`;
      const band = [...merged[at].map(point('high')), ...[...merged[at]].reverse().map(point('low'))];
      if (line.low !== line.high) svg.append(drawn('polygon', { class: `${this.shown.stacked ? 'area' : 'band'} c${line.color}`, points: band.join(' ') }));
      if (!this.shown.stacked) svg.append(drawn('polyline', { class: `line c${line.color}`, points: merged[at].map(point('mean')).join(' ') }));
    });
    this.box = drawn('rect', { class: 'brush', y: PLOT.top, width: 0, height: PLOT.height - PLOT.top - PLOT.bottom });
    this.hair = drawn('line', { class: 'hair', y1: PLOT.top, y2: PLOT.height - PLOT.bottom, visibility: 'hidden' });
    svg.append(this.box, this.hair);
    this.drawing.replaceChildren(svg);
    this.from.value = first;
    this.to.value = last;
    this.place();
    this.refresh();
  }
}

