// What is known of the steps and stands in their plot: warm-up, periodic steps, changes; as `render/html/marks.rs` does.

/** Periodic steps that are marked one by one; for more of them one line stands. */
const SINGLY = 120;

/** Warm-up, which lies below the lines. `x` gives a step's place in percent. */
function marksBelow({ steady }, x, { top, bottom }) {
  if (steady === null || x(steady) <= 0) return [];
  const rect = drawn('rect', { class: 'warm', x: 0, width: `${Math.min(x(steady), 100)}%`, y: top, height: bottom - top });
  rect.append(drawn('title', {}, 'warm-up'));
  return [rect];
}

/** Periodic steps along the axis, where single ones can be told apart; changes with their words. */
function marksAbove({ changes, periods }, x, [from, to], { top, bottom }) {
  const made = [];
  for (const { every, first, words } of periods) {
    const begin = first + Math.max(Math.ceil((from - first) / every), 0) * every;
    const beat = (x1, x2, y2) => made.push(drawn('line', { class: 'beat', x1: `${x1}%`, x2: `${x2}%`, y1: bottom - 1, y2 }, drawn('title', {}, words)));
    if (begin + SINGLY * every <= to) {
      beat(x(begin), 100, bottom - 1);
      continue;
    }
    for (let step = begin; step <= to; step += every) beat(x(step), x(step), bottom - 9);
  }
  changes.forEach((change, row) => {
    const [left, right] = [Math.max(x(change.from), 0), Math.min(x(change.to), 100)];
    if (right > left) made.push(drawn('rect', { class: 'shift', x: `${left}%`, width: `${right - left}%`, y: top - 4, height: 4 }));
    if (change.from < from || change.from > to) return;
    const [anchor, shift] = left > 60 ? ['end', -4] : ['start', 4];
    made.push(drawn('line', { class: 'mark', x1: `${left}%`, x2: `${left}%`, y1: 4 + 14 * (row % 2), y2: bottom }),
      drawn('text', { class: 'tick change', x: `${left}%`, dx: shift, y: 14 + 14 * (row % 2), 'text-anchor': anchor }, change.words));
  });
  return made;
}
