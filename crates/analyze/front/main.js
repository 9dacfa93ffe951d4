// Puts the parts together, and keeps what is shown in the address, so that a link shows the same.

/** The state that the address holds. */
const readAddress = () => new URLSearchParams(location.hash.includes('=') ? location.hash.slice(1) : '');

let state = readAddress();

/** Writes the state into the address, as a step of its own in the history or in place of the present one. */
function remember(changes, isStep = false) {
  const before = state.toString();
  for (const [key, value] of Object.entries(changes)) {
    if (value === '' || value === null) state.delete(key);
    else state.set(key, value);
  }
  const act = isStep && state.toString() !== before ? 'pushState' : 'replaceState';
  // What is written here has a state of its own; what is typed has none.
  history[act]({}, '', state.size ? `#${state}` : location.pathname + location.search);
}

/** Goes to a part of the page. */
function go(id) {
  const target = document.getElementById(id);
  if (!target) return;
  for (let around = target.closest('details'); around; around = around.parentElement.closest('details')) around.open = true;
  target.scrollIntoView();
  const heading = target.querySelector('h2, h3') ?? target;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
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

  /** Shows what an address says. */
  restore(address) {
    this.plots[0]?.setLogarithmic(address.has('log'));
    const [from, to] = (address.get('steps') ?? '').split('-').map(Number);
    const isRange = address.has('steps') && Number.isFinite(from);
    this.set(isRange ? from : this.first, isRange && Number.isFinite(to) ? to : this.last);
  }
}

/** Moves the cursor of all plots, once they are there. */
let look = () => {};

/** Narrows the table of sections to one, where there is a table. */
let find = () => {};

/** What shows the state of an address again, a part of the page each. */
const restorers = [];

function startPlots(data) {
  const shown = plotsOf(data);
  const ends = [...shown.values()].filter(({ steps }) => steps.length).flatMap(({ steps }) => [steps[0], steps[steps.length - 1]]);
  if (!ends.length) return;
  const zoom = new Zoom(Math.min(...ends), Math.max(...ends));
  for (const figure of document.querySelectorAll('figure[data-plot]')) {
    const plot = shown.get(figure.dataset.plot);
    if (plot?.steps.length && plot.lines.length) zoom.plots.push(new Plot(figure, plot, zoom));
  }
  look = (step) => {
    if (step < zoom.range[0] || step > zoom.range[1]) zoom.all();
    zoom.look(step);
  };
  restorers.push((address) => zoom.restore(address));
}

function startSections() {
  const table = new SectionTable(() => remember({
    filter: table.words.value, phase: table.phase.value, sort: table.order ? `${table.order[0]}${table.order[1] ? 'd' : 'a'}` : '',
    all: table.long.isAll ? 1 : '',
  }));
  if (!table.table) return;
  find = (path) => table.find(path);
  const flame = new Flame(flameOfSections(table.rows), () => remember({
    zoom: flame.zoomed === flame.home ? '' : flame.zoomed || '/', from: flame.from || '', search: flame.words, own: flame.own ? 1 : '', inverted: flame.inverted ? 1 : '',
  }));
  restorers.push((address) => table.restore(address), (address) => flame.restore(address));
}

/** The flame graph of live memory; it begins anew with each address. */
function startLive({ live }) {
  if (!live || !document.getElementById('live-graph')) return;
  new Flame(flameOfMemory(live), () => {}).draw();
}

function startWaterfall({ examples }) {
  const waterfall = new Waterfall(examples, () => remember({
    example: waterfall.shown.at, part: waterfall.isWhole() ? '' : waterfall.part.join('-'),
  }));
  if (waterfall.examples) restorers.push((address) => waterfall.restore(address));
}

/** Links inside of the page: each is a step of the history, so that the way back leads to what was shown. */
function follow(event) {
  const link = event.target.closest?.('a[href^="#"]');
  // A new tab or window is the browser's business.
  if (!link || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  const id = link.getAttribute('href').slice(1);
  remember({ at: id }, true);
  if (link.dataset.section) find(link.dataset.section);
  if (link.dataset.look) look(Number(link.dataset.look));
  go(id);
}

/** Shows the state of the address. Parts write theirs into it meanwhile, and each reads the one that was there before. */
function restore() {
  const address = readAddress();
  state = readAddress();
  restorers.forEach((one) => one(address));
}

async function start() {
  startSections();
  startHistogram();
  try {
    const data = await readData();
    startPlots(data);
    startWaterfall(data);
    startLive(data);
  } catch (error) {
    const said = element('p', { class: 'failed', role: 'alert' }, `The figures over the steps could not be read (${error.message}); plots are not drawn.`);
    document.getElementById('timeline')?.prepend(said);
  }
  restore();
  document.querySelectorAll('main table:not(#section-table)').forEach((table) => { if (table.tBodies[0].rows.length > FIRST_ROWS) new LongTable(table); });
  document.querySelectorAll('.scroll').forEach(markOverflow);
  if (state.has('at')) go(state.get('at'));
  document.addEventListener('click', follow);
  window.addEventListener('popstate', (event) => {
    restore();
    // Where the way back leads to, the browser scrolls itself.
    if (event.state === null && state.has('at')) go(state.get('at'));
  });
  document.documentElement.dataset.ready = 'yes';
}

start();
