// Puts the parts together, and keeps what is shown in the address, so that a link shows the same.

const state = new URLSearchParams(location.hash.includes('=') ? location.hash.slice(1) : '');

/** Writes the state into the address without a step of its own in the history. */
function remember(changes) {
  for (const [key, value] of Object.entries(changes)) {
    if (value === '' || value === null) state.delete(key);
    else state.set(key, value);
  }
  history.replaceState(null, '', state.size ? `#${state}` : location.pathname + location.search);
}

/** Goes to a part of the page; the state stays in the address. */
function go(id) {
  const target = document.getElementById(id);
  if (!target) return;
  for (let around = target.closest('details'); around; around = around.parentElement.closest('details')) around.open = true;
  target.scrollIntoView();
  const heading = target.querySelector('h2, h3') ?? target;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  remember({ at: id });
}

/** The steps that all plots show. */
class Zoom {
  constructor(first, last) {
    Object.assign(this, { first, last, range: [first, last], plots: [] });
  }

  set(from, to) {
    const low = Math.min(Math.max(from, this.first), this.last);
    const high = Math.min(Math.max(to, low + 1), Math.max(this.last, low + 1));
    this.range = [low, high];
    this.plots.forEach((plot) => plot.draw());
    remember({ steps: this.isWhole() ? '' : `${low}-${high}` });
  }

  isWhole() {
    return this.range[0] <= this.first && this.range[1] >= this.last;
  }

  /** Moves the cursor of all plots. */
  look(step) {
    this.plots.forEach((plot) => plot.look(step));
  }

  all() {
    this.set(this.first, this.last);
  }
}

/** Moves the cursor of all plots, once they are there. */
let look = () => {};

function startPlots(data) {
  const shown = plotsOf(data);
  if (![...shown.values()].some((plot) => plot.steps?.length)) return;
  const zoom = new Zoom(...data.steps);
  for (const figure of document.querySelectorAll('figure[data-plot]')) {
    const plot = shown.get(figure.dataset.plot);
    if (plot?.steps?.length && plot.lines.length) zoom.plots.push(new Plot(figure, plot, zoom));
  }
  look = (step) => {
    if (step < zoom.range[0] || step > zoom.range[1]) zoom.all();
    zoom.look(step);
  };
  const [from, to] = (state.get('steps') ?? '').split('-').map(Number);
  zoom.set(Number.isFinite(from) ? from : zoom.first, Number.isFinite(to) ? to : zoom.last);
}

function startSections() {
  const table = new SectionTable(() => remember({
    filter: table.words.value, phase: table.phase.value, sort: table.order ? `${table.order[0]}${table.order[1] ? 'd' : 'a'}` : '',
    all: table.long.isAll ? 1 : '',
  }));
  if (!table.table) return;
  table.words.value = state.get('filter') ?? '';
  table.phase.value = state.get('phase') ?? '';
  if (table.phase.selectedIndex < 0) table.phase.value = '';
  table.long.isAll = state.has('all');
  const sort = /^(\d+)([ad])$/.exec(state.get('sort') ?? '');
  if (sort) table.sort(Number(sort[1]), sort[2] === 'd');
  table.filter(false);
  const flame = new Flame(table.rows, () => remember({
    zoom: flame.zoomed === flame.home ? '' : flame.zoomed || '/', from: flame.from || '', search: flame.words, own: flame.own ? 1 : '', inverted: flame.inverted ? 1 : '',
  }));
  flame.words = flame.search.value = state.get('search') ?? '';
  flame.own = flame.ownBox.checked = state.has('own');
  flame.inverted = flame.invertedBox.checked = state.has('inverted');
  if (flame.inverted) flame.zoomed = '';
  if (state.has('zoom')) flame.zoomed = state.get('zoom');
  flame.from = Math.max(Math.trunc(Number(state.get('from'))) || 0, 0);
  flame.draw();
  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    if (!link) return;
    event.preventDefault();
    if (link.dataset.section) table.find(link.dataset.section);
    if (link.dataset.look) look(Number(link.dataset.look));
    go(link.getAttribute('href').slice(1));
  });
}

function startWaterfall(data) {
  const waterfall = new Waterfall(examplesOf(data), () => remember({
    example: waterfall.shown.at, part: waterfall.isWhole() ? '' : waterfall.part.join('-'),
  }));
  if (!waterfall.examples || !state.has('example')) return;
  const part = (state.get('part') ?? '').split('-').map(Number);
  waterfall.show(Number(state.get('example')), part.length === 2 && part.every(Number.isFinite) ? part : null);
}

async function start() {
  startSections();
  try {
    const data = await readData();
    startPlots(data);
    startWaterfall(data);
  } catch (error) {
    const said = element('p', { class: 'failed', role: 'alert' }, `The figures over the steps could not be read (${error.message}); plots cannot be zoomed.`);
    document.getElementById('timeline')?.prepend(said);
  }
  document.querySelectorAll('main table:not(#section-table)').forEach((table) => { if (table.tBodies[0].rows.length > FIRST_ROWS) new LongTable(table); });
  document.querySelectorAll('.scroll').forEach(markOverflow);
  if (state.has('at')) go(state.get('at'));
  document.documentElement.dataset.ready = 'yes';
}

start();
