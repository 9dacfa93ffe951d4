// How many steps take how long: bars on a logarithmic axis, of the figures in the table below.

function startHistogram() {
  const figure = document.getElementById('plot-distribution');
  const rows = [...document.querySelectorAll('#distribution-rows tbody tr')].map((row) => [...row.querySelectorAll('data')].map((one) => Number(one.value)));
  if (!figure || !rows.length) return;
  const [least, most] = [Math.max(rows[0][0], 1), rows[rows.length - 1][1] + 1];
  // Equal steps are no wall.
  const more = Math.max(Math.sqrt(1.5 * least / most), 1);
  const [low, high] = [Math.max(least / more, 1), most * more];
  const x = (ns) => Math.min(Math.max(Math.log(Math.max(ns, 1) / low) / Math.log(high / low), 0), 1) * 100;
  const [top, bottom] = [46, PLOT.height - PLOT.bottom];
  const { ticks } = axisTo(Math.max(...rows.map(([, , count]) => count)), 10);
  const y = (steps) => bottom - steps / ticks[ticks.length - 1] * (bottom - top);
  const drawing = figure.querySelector('.drawing');
  const bars = rows.map(([from, to, count]) => {
    const [left, height] = [x(from), Math.max(bottom - y(count), 2)];
    return drawn('rect', { x: `${left.toFixed(2)}%`, y: (bottom - height).toFixed(1), width: `${(x(to + 1) - left).toFixed(2)}%`, height: height.toFixed(1) },
      drawn('title', {}, `${duration(from)} to ${duration(to)}: ${wholeNumber(count)}`));
  });
  const marks = ['p50', 'p95', 'p99'].flatMap((name, row) => {
    const place = figure.querySelector(`figcaption data[data-at$="/${name}"]`);
    if (!place) return [];
    const at = x(Number(place.value));
    return [
      drawn('line', { class: 'mark', x1: `${at}%`, x2: `${at}%`, y1: 2 + 14 * row, y2: bottom }),
      drawn('text', { class: 'tick percentile', x: `${at}%`, dx: at > 60 ? -4 : 4, y: 12 + 14 * row, 'text-anchor': at > 60 ? 'end' : 'start' }, name),
    ];
  });
  drawing.replaceChildren(drawn('svg', { class: 'plot', height: PLOT.height, role: 'img', 'aria-label': drawing.dataset.title },
    ...ticks.flatMap((tick) => levelAt(y(tick), wholeNumber(tick))), drawn('g', { class: 's0' }, ...bars),
    ...logarithmicTicks(low, high).flatMap((tick, at) => tickAt(at, x(tick), shortWords(duration(tick)))), ...marks));
}
