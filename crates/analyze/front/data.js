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
  if (header.version !== 3) throw new Error(`data of version ${header.version}`);
  const packed = Uint8Array.from(atob(header.stream), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const columns = new Map();
  let at = 0;
  for (const { name, rows, kind } of header.columns) {
    const values = new Float64Array(rows);
    if (kind === 'integers') at = integers(bytes, at, values);
    else at = floats(bytes, at, values);
    columns.set(name, values);
  }
  if (at !== header.bytes) throw new Error(`${at} bytes instead of ${header.bytes}`);
  return { columns, plots: header.plots, ...JSON.parse(new TextDecoder().decode(bytes.subarray(at))) };
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

/** Live memory by section, one on the other, as `stacked`. */
function piled(parts, get) {
  const zero = new Float64Array(get('step').length);
  let below = zero;
  const lines = parts.map(({ name, color }, at) => {
    const exact = get(at);
    below = below.map((value, row) => value + exact[row]);
    return { label: name, color, exact, own: exact, low: zero, mean: below, high: below };
  });
  return {
    unit: byteSize, base: 1024, areas: true, stacked: true, lines: lines.filter((line) => line.own.some((value) => value > 0)).reverse(),
    rows: lines.map(({ label, exact }) => [label, exact, byteSize]),
  };
}

/** What a machine did: means of the times from one reading to the next. Shares are drawn as parts of a hundred. */
function ofHost(id, { unit, lines }, get) {
  const [size, words] = {
    share: [100, (value) => percent(value / 100)], bytes: [1, byteSize], bytes_per_s: [1, (value) => `${byteSize(value)}/s`],
    w: [1, (value) => `${Math.round(value)} W`],
  }[unit] ?? [1, plainNumber];
  const all = lines.map(({ name, color }, at) => {
    const mean = get(`${id}_${at}`).map((value) => value * size);
    return { label: name, color, low: mean, mean, high: mean };
  });
  return { unit: words, base: unit.startsWith('bytes') ? 1024 : 10, meaning: 'mean', lines: all, rows: all.map(({ label, mean }) => [label, mean, words]) };
}

/** What each plot shows: a column of step numbers, each the first of `width` steps, and lines of smallest, mean and largest. */
function plotsOf({ columns, plots }) {
  const made = new Map();
  const get = (name) => columns.get(name);
  for (const { id, steps_per_point: width, more } of plots) {
    const plot = { steps: get(`${id}_step`), width };
    if (id === 'steps') overSteps(made, get, plot, more);
    else if (id === 'phases') made.set(id, { ...stacked(columns, more), width });
    else if (id === 'held') {
      const lines = more.map(({ name, color }, at) => ({ label: name, color, low: get(`held_${at}`), mean: get(`held_${at}`), high: get(`held_${at}`).slice() }));
      made.set(id, {
        ...plot, meaning: 'after the last', unit: signedBytes, base: 1024, signed: true, lines,
        rows: [...lines].reverse().map(({ label, mean }) => [label, mean, signedBytes]),
      });
    } else if (id === 'sampled') {
      made.set(id, { ...plot, ...piled(more, (name) => get(`sampled_${name}`)) });
    } else if (id.startsWith('host-')) made.set(id, { ...plot, ...ofHost(id, more, get) });
    else {
      const mean = get(`${id}_mean`);
      made.set(id, {
        ...plot, unit: plainNumber, base: 10, free: true, rows: [[more, mean, plainNumber]],
        lines: [{ label: more, color: 's3', low: get(`${id}_min`) ?? mean, mean, high: get(`${id}_max`) ?? mean }],
      });
    }
  }
  return made;
}

/** The plots of step times, waiting and memory, which have the same points. */
function overSteps(made, get, plot, marks) {
  const [count, sum, low, high, waits] = ['count', 'sum', 'min', 'max', 'wait'].map((name) => get(`steps_${name}`));
  const each = (values) => values.map((value, row) => value / Math.max(count[row], 1));
  const [mean, wait, zero] = [each(sum), each(waits), new Float64Array(count.length)];
  const times = {
    ...plot, unit: duration, clips: true,
    rows: [['Steps', count, wholeNumber], ['Sum', sum, duration], ['Shortest', low, duration], ['Longest', high, duration], ['Waiting', waits, duration]],
  };
  made.set('steps', { ...times, marks, lines: [{ label: 'Step time', color: 's0', low, mean, high, weight: count }] });
  made.set('waiting', {
    ...times, areas: true,
    lines: [
      { label: 'Step time', color: 's0', low: zero, mean, high: mean, weight: count },
      { label: 'Waiting for data', color: phaseColors()('data_wait'), low: zero, mean: wait, high: wait, weight: count },
    ],
  });
  const gauges = [['rss', 'Resident', 's1'], ['live', 'Live', 's2']].map(([name, label, color]) => {
    return { label, color, low: get(`${name}_min`), mean: get(`${name}_mean`), high: get(`${name}_max`), weight: count };
  });
  const lines = gauges.filter((line) => line.low.some((value) => !Number.isNaN(value)));
  made.set('memory', {
    ...plot, unit: byteSize, base: 1024, lines,
    rows: lines.flatMap(({ label, low: least, mean: middle, high: most }) => [
      [`${label}, least`, least, byteSize], [`${label}, mean`, middle, byteSize], [`${label}, most`, most, byteSize],
    ]),
  });
}
