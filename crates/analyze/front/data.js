// The columns that the report was written with; `render/html/data.rs` is the other end.

let parsed = null;

/** What the report was written with: names, colours, columns. Throws where it is damaged. */
function pageHeader() {
  parsed ??= JSON.parse(document.getElementById('data').textContent);
  return parsed;
}

/** Reads the page's data: columns by name, and what is known about plots. Throws where they are damaged. */
async function readData() {
  const header = pageHeader();
  if (header.version !== 1) throw new Error(`data of version ${header.version}`);
  const packed = Uint8Array.from(atob(header.stream), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  if (bytes.length !== header.bytes) throw new Error(`${bytes.length} bytes instead of ${header.bytes}`);
  const columns = new Map();
  let at = 0;
  for (const { name, rows, kind } of header.columns) {
    const values = new Float64Array(rows);
    if (kind === 'integers') at = integers(bytes, at, values);
    else at = floats(bytes, at, values);
    columns.set(name, values);
  }
  if (at !== bytes.length) throw new Error(`${bytes.length - at} bytes too many`);
  return { columns, plots: header.plots, steps: header.steps, p50: header.p50, texts: header.texts, examples: header.examples };
}

/** Differences in zigzag LEB128, 1 more than they are; 0 is absent, which becomes NaN. Gives where they end. */
function integers(bytes, at, values) {
  let before = 0;
  for (let row = 0; row < values.length; row += 1) {
    let number = 0;
    let scale = 1;
    let byte;
    do {
      if (at >= bytes.length) throw new Error('the data end too early');
      byte = bytes[at];
      at += 1;
      number += (byte & 127) * scale;
      scale *= 128;
    } while (byte >= 128);
    if (number === 0) {
      values[row] = NaN;
    } else {
      number -= 1;
      before += number % 2 === 0 ? number / 2 : -(number + 1) / 2;
      values[row] = before;
    }
  }
  return at;
}

/** 32-bit floats, all first bytes before all second ones. */
function floats(bytes, at, values) {
  const view = new DataView(new ArrayBuffer(4));
  const rows = values.length;
  if (at + 4 * rows > bytes.length) throw new Error('the data end too early');
  for (let row = 0; row < rows; row += 1) {
    for (let plane = 0; plane < 4; plane += 1) view.setUint8(plane, bytes[at + plane * rows + row]);
    values[row] = view.getFloat32(0, true);
  }
  return at + 4 * rows;
}

/** Exposed time by phase, one on the other: what is on top comes first, and is covered by what is below it. */
function stacked(columns, names) {
  const color = phaseColors();
  const get = (name) => columns.get(`phases_${name}`);
  const [steps, count] = [get('step'), get('steps')];
  const zero = new Float64Array(steps.length);
  let below = zero;
  const parts = [...names.map((label, at) => ({ label, color: color(label), exact: get(at) })), { label: '(no phase)', color: 'plain', exact: get('none') }];
  for (const part of parts) {
    const own = part.exact.map((value, row) => value / Math.max(count[row], 1));
    below = below.map((value, row) => value + own[row]);
    Object.assign(part, { own, low: zero, mean: below, high: below, weight: count });
  }
  return {
    steps, unit: duration, clips: true, areas: true, stacked: true, lines: parts.filter((part) => part.own.some((value) => value > 0)).reverse(),
    rows: [['Whole steps', count, wholeNumber], ['Time', get('total'), duration], ...parts.map(({ label, exact }) => [label, exact, duration])],
  };
}

/** What each plot shows: a column of step numbers, each the first of `width` steps, and lines of smallest, mean and largest. */
function plotsOf({ columns, plots }) {
  const made = new Map();
  const width = (id) => plots.find((plot) => plot.id === id)?.steps_per_point ?? 1;
  const get = (name) => columns.get(name);
  const steps = get('step');
  if (steps) {
    const count = get('count');
    const low = get('duration_min');
    const over = (base, extra) => base.map((value, row) => value + extra[row]);
    const high = over(low, get('duration_max_over'));
    const known = low.map((value, row) => value * Math.max(count[row] - 1, 0) + high[row]);
    const sum = over(known, get('duration_sum_over'));
    const mean = sum.map((value, row) => value / Math.max(count[row], 1));
    const wait = get('wait').map((value, row) => value / Math.max(count[row], 1));
    const zero = new Float64Array(steps.length);
    const exact = [
      ['Steps', count, wholeNumber], ['Sum', sum, duration], ['Shortest', low, duration], ['Longest', high, duration],
      ['Waiting', get('wait'), duration],
    ];
    made.set('steps', {
      steps, width: width('steps'), unit: duration, clips: true, rows: exact,
      marks: plots.find((plot) => plot.id === 'steps').marks,
      lines: [{ label: 'Step time', color: 's0', low, mean, high, weight: count }],
    });
    made.set('waiting', {
      steps, width: width('steps'), unit: duration, clips: true, rows: exact, areas: true,
      lines: [
        { label: 'Step time', color: 's0', low: zero, mean, high: mean, weight: count },
        { label: 'Waiting for data', color: phaseColors()('data_wait'), low: zero, mean: wait, high: wait, weight: count },
      ],
    });
    const gauges = [['rss', 'Resident', 's1'], ['live', 'Live', 's2']].map(([name, label, color]) => {
      const least = get(`${name}_min`);
      const range = get(`${name}_max_over`);
      const off = get(`${name}_mean_off`).map((value) => (value % 2 === 0 ? value / 2 : -(value + 1) / 2));
      const middle = over(least, range.map((value) => Math.floor(value / 2)));
      return { label, color, low: least, mean: over(middle, off), high: over(least, range), weight: count };
    });
    const lines = gauges.filter((line) => line.low.some((value) => !Number.isNaN(value)));
    made.set('memory', {
      steps, width: width('steps'), unit: byteSize, base: 1024, lines,
      rows: lines.flatMap(({ label, low, mean: middle, high: most }) => [
        [`${label}, least`, low, byteSize], [`${label}, mean`, middle, byteSize], [`${label}, most`, most, byteSize],
      ]),
    });
  }
  const phases = plots.find((plot) => plot.id === 'phases');
  if (phases) made.set('phases', { ...stacked(columns, phases.names), width: width('phases') });
  const held = plots.find((plot) => plot.id === 'held');
  if (held) {
    const lines = held.lines.map(({ name, color }, at) => ({ label: name, color, low: get(`held_${at}`), mean: get(`held_${at}`), high: get(`held_${at}`).slice() }));
    made.set('held', {
      steps: get('held_step'), width: width('held'), meaning: 'after the last', unit: signedBytes, base: 1024, signed: true, lines,
      rows: [...lines].reverse().map(({ label, mean }) => [label, mean, signedBytes]),
    });
  }
  for (const { id, name } of plots.filter((plot) => plot.id.startsWith('value-'))) {
    const mean = get(`${id}_mean`);
    made.set(id, {
      steps: get(`${id}_step`), width: width(id), unit: plainNumber, base: 10, free: true, rows: [[name, mean, plainNumber]],
      lines: [{ label: name, color: 's3', low: get(`${id}_min`) ?? mean, mean, high: get(`${id}_max`) ?? mean }],
    });
  }
  return made;
}

