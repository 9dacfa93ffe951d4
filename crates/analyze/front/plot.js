// Plots over step numbers: drawn again at every zoom from some hundred buckets, at most, of smallest, mean and largest. All plots
// show the same steps, and have one cursor. Zooming is dragging, or two sliders; a third moves the cursor, whose figures
// are said in words. Places are shares of the width, so that words keep their size; shapes stretch in a drawing inside.

const PLOT = { inside: 1000, column: 20, height: 220, top: 10, topOfMarks: 38, words: 16, bottom: 28, buckets: 400, areas: 200 };

/** The last step that a row holds: `width` from its own on, and none of the next one. */
function endOf({ steps, width }, row) {
  return Math.min(steps[row] + width, steps[row + 1] ?? Infinity) - 1;
}

/** Rows that hold a step of a range, both ends included. */
function rowsWithin(shown, [from, to]) {
  const { steps } = shown;
  const below = (limit) => {
    let [low, high] = [0, steps.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (steps[middle] < limit) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const before = below(from + 1) - 1;
  return [before >= 0 && endOf(shown, before) >= from ? before : before + 1, below(to + 1)];
}

/** Rows that a plot of a range draws: where no row is inside, those beside it, between which its line runs. */
function rowsDrawn(shown, range) {
  const [from, to] = rowsWithin(shown, range);
  return from < to ? [from, to] : [Math.max(from - 1, 0), Math.min(to + 1, shown.steps.length)];
}

/** Merges rows `from..to` of a line; `end` is the last step of each bucket. */
function bucketsOf(line, shown, [from, to], most) {
  const { steps } = shown;
  const size = Math.max(1, Math.ceil((to - from) / most));
  const merged = [];
  for (let start = from; start < to; start += size) {
    const bucket = { step: steps[start], end: endOf(shown, Math.min(start + size, to) - 1), low: Infinity, high: -Infinity, mean: 0 };
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

/** A line across, and its words before it. */
function levelAt(y, words) {
  const at = y.toFixed(1);
  return [drawn('line', { class: 'grid', x1: 0, x2: '100%', y1: at, y2: at }),
    drawn('text', { class: 'tick', x: -6, y: Number(at) + 4, 'text-anchor': 'end' }, words)];
}

/** A tick below the axis, at a place in percent; every other one is left out where there is little room. */
function tickAt(at, x, words) {
  const [place, bottom] = [`${x}%`, PLOT.height - PLOT.bottom];
  return [drawn('line', { class: 'grid', x1: place, x2: place, y1: bottom, y2: bottom + 5 }),
    drawn('text', { class: `tick x${at % 2 ? ' odd' : ''}`, x: place, y: PLOT.height - 8, 'text-anchor': anchorAt(x / 100) }, words)];
}

class Plot {
  constructor(figure, shown, zoom) {
    Object.assign(this, { figure, shown, zoom, logarithmic: false, cursor: null });
    this.drawing = figure.querySelector('.drawing');
    this.title = this.drawing.dataset.title;
    this.tools(figure.querySelector('.tools'));
    this.table();
    this.drag();
  }

  /** The sliders and buttons: those of all plots stand at the first one; the others say their figures. */
  tools(place) {
    const isFirst = this.zoom.plots.length === 0;
    this.said = element(isFirst ? 'output' : 'p', { class: 'said' });
    if (isFirst) {
      const slider = (label, input) => {
        const range = element('input', { type: 'range', min: this.zoom.first, max: this.zoom.last, step: 1, value: this.zoom.first, oninput: input });
        place.append(element('label', {}, `${label} `, range));
        return range;
      };
      this.from = slider('From step', () => this.zoom.set(Number(this.from.value), Math.max(Number(this.from.value) + 1, this.zoom.range[1])));
      this.to = slider('to step', () => this.zoom.set(Math.min(Number(this.to.value) - 1, this.zoom.range[0]), Number(this.to.value)));
      this.pointer = slider('Look at step', () => this.zoom.look(Number(this.pointer.value)));
      this.box = element('input', { type: 'checkbox', onchange: () => { this.setLogarithmic(this.box.checked); this.draw(); remember({ log: this.logarithmic ? 1 : '' }); } });
      place.append(element('label', {}, this.box, ' logarithmic'));
      this.said.setAttribute('aria-live', 'polite');
      this.said.textContent = 'Drag in a plot to see a part of the steps; all plots show the same.';
    }
    this.all = element('button', { type: 'button', onclick: () => this.zoom.all() }, 'All steps');
    place.append(this.all, this.said);
    place.hidden = false;
  }

  /** Chooses the axis, which is drawn later. */
  setLogarithmic(isChosen) {
    this.logarithmic = this.box.checked = isChosen;
  }

  /** The figures in words, 50 rows a page, made when they are looked at. */
  table() {
    const place = element('div');
    const details = element('details', { class: 'rows' }, element('summary', {}, 'The figures as a table'), place);
    let page = 0;
    const show = () => {
      const [from, to] = rowsWithin(this.shown, this.zoom.range);
      const pages = Math.max(1, Math.ceil((to - from) / 50));
      page = Math.min(Math.max(page, 0), pages - 1);
      const head = element('tr', {}, element('th', { scope: 'col' }, this.shown.width > 1 ? 'Steps' : 'Step'));
      for (const [label] of this.shown.rows) head.append(element('th', { scope: 'col', class: 'n' }, ...breaking(label)));
      const body = element('tbody');
      for (let row = from + page * 50; row < Math.min(to, from + (page + 1) * 50); row += 1) {
        const line = element('tr', {}, element('th', { scope: 'row' }, this.numbers(row)));
        for (const [, values, unit] of this.shown.rows) {
          const value = values[row];
          line.append(element('td', {}, Number.isNaN(value) ? '–' : element('data', { value }, unit(value))));
        }
        body.append(line);
      }
      const turn = (by) => () => { page += by; show(); };
      place.replaceChildren(
        scrolling(`${this.title}, figures`, element('table', {}, element('thead', {}, head), body)),
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
      const box = this.ground.getBoundingClientRect();
      const share = (event.clientX - box.left) / Math.max(box.width, 1);
      const [from, to] = this.zoom.range;
      return Math.round(from + Math.min(Math.max(share, 0), 1) * (to - from));
    };
    this.drawing.addEventListener('pointerdown', (event) => { start = stepAt(event); event.preventDefault(); });
    this.drawing.addEventListener('pointermove', (event) => {
      this.zoom.look(stepAt(event));
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
    this.shade.setAttribute('x', `${left}%`);
    this.shade.setAttribute('width', `${from === to ? 0 : right - left}%`);
  }

  /** The place of a step in percent. */
  x(step) {
    const [from, to] = this.zoom.range;
    return from === to ? 50 : (step - from) / (to - from) * 100;
  }

  /** The step of a row, or the first and the last one. */
  numbers(row) {
    const { steps, width } = this.shown;
    return width > 1 ? `${wholeNumber(steps[row])}–${wholeNumber(endOf(this.shown, row))}` : wholeNumber(steps[row]);
  }

  /** Moves the cursor to a step, and says the figures of the row that holds it, or of the last one before it. */
  look(step) {
    const { steps, width, lines, unit, meaning } = this.shown;
    const row = Math.max(rowsWithin(this.shown, [step, step])[1] - 1, 0);
    this.cursor = Math.min(Math.max(step, steps[row]), endOf(this.shown, row));
    const words = lines.map(({ label, low, mean, high, own }) => {
      if (own) return `${label} ${unit(own[row])}`;
      if (Number.isNaN(mean[row])) return `${label} not known`;
      const range = low[row] !== high[row] && !this.shown.areas ? ` (${unit(low[row])} to ${unit(high[row])})` : '';
      return `${label} ${unit(mean[row])}${range}`;
    });
    const which = width > 1 ? `Steps ${this.numbers(row)}, ${meaning ?? 'mean'}` : `Step ${this.numbers(row)}`;
    this.said.textContent = `${which}: ${words.join(', ')}`;
    if (this.pointer) this.pointer.value = step;
    this.place();
  }

  place() {
    if (!this.hair) return;
    const [from, to] = this.zoom.range;
    const shown = this.cursor !== null && this.cursor >= from && this.cursor <= to;
    this.hair.setAttribute('visibility', shown ? 'visible' : 'hidden');
    if (shown) ['x1', 'x2'].forEach((name) => this.hair.setAttribute(name, `${this.x(this.cursor)}%`));
  }

  /** Ticks, and where a value is between the lowest (0) and the highest (1). */
  axis(merged) {
    const { unit, base, free, signed, clips } = this.shown;
    const all = merged.flat();
    if (signed) {
      const of = (key, choose) => all.reduce((most, one) => choose(most, one[key]), 0);
      const axis = axisSigned(of('low', Math.min), of('high', Math.max), base);
      const [first, last] = [axis.ticks[0], axis.ticks[axis.ticks.length - 1]];
      return { ticks: axis.ticks, words: (tick) => shortWords(unit(tick)), share: (value) => (value - first) / (last - first) };
    }
    const high = all.reduce((most, one) => Math.max(most, one.high), free ? -Infinity : 1);
    const low = free ? all.reduce((least, one) => Math.min(least, one.low), Infinity) : 0;
    if (this.logarithmic) {
      const floor = Math.max(all.reduce((least, one) => (one.low > 0 ? Math.min(least, one.low) : least), high), 1);
      const share = (value) => Math.log(Math.max(value, floor) / floor) / Math.max(Math.log(high / floor), 1e-9);
      const ticks = logarithmicTicks(floor, high);
      return { ticks: ticks.length > 1 ? ticks : [floor, high], words: (tick) => shortWords(unit(tick)), share };
    }
    const reach = clips ? Math.max(1, ...merged.map((line) => ceilingOf(line.map((one) => one.high)))) : high;
    const axis = free ? axisAround(Number.isFinite(low) ? low : 0, Number.isFinite(high) ? high : 0) : unit === duration ? axisOfTime(reach) : axisTo(reach, base);
    const [first, last] = [axis.ticks[0], axis.ticks[axis.ticks.length - 1]];
    // Halves, so that the difference of the extremes of the type is finite.
    const share = (value) => (value / 2 - first / 2) / Math.max(last / 2 - first / 2, Number.MIN_VALUE);
    return { ticks: axis.ticks, words: free ? (tick) => plainTick(axis, tick) : (tick) => shortWords(unit(tick)), share };
  }

  /** Marks of what lies beyond the axis, and how far it reaches. */
  beyond(buckets, top) {
    if (!buckets.length) return [];
    const { unit } = this.shown;
    const words = (one) => `step ${wholeNumber(one.step)}: ${unit(one.high)}`;
    const x = (one) => Math.max(this.x(one.step), 0);
    const most = unit(buckets.reduce((sum, one) => Math.max(sum, one.high), 0));
    return [
      ...buckets.map((one) => drawn('text', { class: 'over', x: `${x(one)}%`, y: top + 10, 'text-anchor': 'middle' }, '▲', drawn('title', {}, words(one)))),
      drawn('text', { class: 'over words', x: 0, y: top - 6 }, `▲ beyond the axis: up to ${most}`),
    ];
  }

  /** How many pixels wide the plot is, without the words beside it. */
  pixels() {
    const before = this.drawing.querySelector('svg') ?? this.drawing.appendChild(drawn('svg', { class: 'plot' }));
    const { paddingLeft, paddingRight } = getComputedStyle(before);
    return before.getBoundingClientRect().width - parseFloat(paddingLeft) - parseFloat(paddingRight);
  }

  draw() {
    const { lines, marks } = this.shown;
    const rows = rowsDrawn(this.shown, this.zoom.range);
    const most = this.shown.stacked ? PLOT.areas : PLOT.buckets;
    const merged = lines.map((line) => bucketsOf(line, this.shown, rows, most));
    // Areas of means lie one before the other, and reach to the mean alone.
    if (this.shown.areas) merged.flat().forEach((one) => { one.high = one.mean; });
    const { ticks, words, share } = this.axis(merged);
    // The last bucket reaches over all of its steps.
    const ends = merged.map((line) => {
      const [last] = line.slice(-1);
      const end = Math.min(last?.end, this.zoom.range[1]);
      return end > last?.step ? [...line, { ...last, step: end }] : line;
    });
    // The first line is the highest.
    const beyond = (merged[0] ?? []).filter((one) => share(one.high) > 1 + 1e-9);
    const bottom = PLOT.height - PLOT.bottom;
    const top = (marks?.changes.length ? PLOT.topOfMarks : PLOT.top) + (beyond.length ? PLOT.words : 0);
    const y = (value) => bottom - Math.min(Math.max(share(value), 0), 1) * (bottom - top);
    const x = (step) => this.x(step);
    const pixels = marks?.changes.length ? this.pixels() : PLOT.inside;
    const svg = drawn('svg', { class: 'plot', height: PLOT.height, role: 'img', 'aria-label': this.title });
    if (marks) svg.append(...marksBelow(marks, x, { top, bottom }));
    for (const tick of ticks.filter((one, place) => place === 0 || words(one) !== words(ticks[place - 1]))) svg.append(...levelAt(y(tick), words(tick)));
    stepTicks(...this.zoom.range).forEach((step, at) => svg.append(...tickAt(at, x(step), `${at ? '' : 'step '}${wholeNumber(step)}`)));
    const inside = drawn('svg', { class: 'in', width: '100%', height: PLOT.height, viewBox: `0 0 ${PLOT.inside} ${PLOT.height}`, preserveAspectRatio: 'none' });
    // As wide as the axis: where the pointer is, is told by it.
    this.ground = drawn('rect', { class: 'ground', width: PLOT.inside, height: PLOT.height });
    inside.append(this.ground);
    lines.forEach((line, at) => {
      const point = (key, more = 0) => (one) => `${(x(one.step) * PLOT.inside / 100 + more).toFixed(1)},${y(one[key]).toFixed(1)}`;
      const band = [...ends[at].map(point('high')), ...[...ends[at]].reverse().map(point('low'))];
      // A single one is a point or a column: a line to itself is seen where its ends are round.
      const isSingle = ends[at].length === 1;
      if (isSingle && this.shown.stacked) band.push(...['low', 'high'].map((key) => point(key, PLOT.column)(ends[at][0])));
      const mean = ends[at].map(point('mean'));
      if (isSingle) mean.push(mean[0]);
      if (line.low !== line.high) inside.append(drawn('polygon', { class: `${this.shown.stacked ? 'area' : 'band'} ${line.color}`, points: band.join(' ') }));
      if (!this.shown.stacked) inside.append(drawn('polyline', { class: `line${isSingle ? ' dot' : ''} ${line.color}`, points: mean.join(' ') }));
    });
    this.shade = drawn('rect', { class: 'brush', y: top, width: 0, height: bottom - top });
    this.hair = drawn('line', { class: 'hair', y1: top, y2: bottom, visibility: 'hidden' });
    svg.append(inside, ...(marks ? marksAbove(marks, x, this.zoom.range, { top, bottom, pixels }) : []), ...this.beyond(beyond, top), this.shade, this.hair);
    this.drawing.replaceChildren(svg);
    const isWhole = this.zoom.isWhole();
    this.all.hidden = isWhole && !this.from;
    if (this.from) [this.from.value, this.to.value] = this.zoom.range;
    this.place();
    this.refresh();
  }
}
