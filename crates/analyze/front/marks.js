// What is known of the steps and stands in their plot: warm-up, periodic steps, changes.

/** Periodic steps that are marked one by one; for more of them one line stands. */
const SINGLY = 120;

/** Rows of words above the plot, and pixels that a letter of them takes. */
const WORDS = { rows: 2, letter: 7.5, beside: 4, apart: 6 };

/** Where the words of changes stand, so that none lie over others or beyond the plot: each its row, and on which side of its line; no row
 * where there is no room. `lefts` are the lines' places in percent of so many pixels. */
function placesOfWords(changes, lefts, pixels) {
  const ends = Array(WORDS.rows).fill(-Infinity);
  return changes.map(({ words }, at) => {
    const line = lefts[at] / 100 * pixels;
    const wide = words.length * WORDS.letter;
    const isBefore = line + WORDS.beside + wide > pixels;
    const begin = isBefore ? line - WORDS.beside - wide : line + WORDS.beside;
    const row = begin < 0 ? -1 : ends.findIndex((end) => end + WORDS.apart <= begin);
    if (row >= 0) ends[row] = begin + wide;
    return { row, isBefore };
  });
}

/** Warm-up, which lies below the lines. `x` gives a step's place in percent. */
function marksBelow({ steady }, x, { top, bottom }) {
  if (steady === null || x(steady) <= 0) return [];
  const rect = drawn('rect', { class: 'warm', x: 0, width: `${Math.min(x(steady), 100)}%`, y: top, height: bottom - top });
  rect.append(drawn('title', {}, 'warm-up'));
  return [rect];
}

/** Periodic steps along the axis, where single ones can be told apart; changes with their words, as far as there is room for them in so
 * many `pixels`. */
function marksAbove({ changes, periods }, x, [from, to], { top, bottom, pixels }) {
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
  for (const change of changes) {
    const [left, right] = [Math.max(x(change.from), 0), Math.min(x(change.to), 100)];
    if (right > left) made.push(drawn('rect', { class: 'shift', x: `${left}%`, width: `${right - left}%`, y: top - 4, height: 4 }));
  }
  const shown = changes.filter((change) => change.from >= from && change.from <= to);
  const lefts = shown.map((change) => x(change.from));
  placesOfWords(shown, lefts, pixels).forEach(({ row, isBefore }, at) => {
    const { words } = shown[at];
    const left = `${lefts[at]}%`;
    const begin = row >= 0 ? 4 + 14 * row : top - 4;
    made.push(drawn('line', { class: 'mark', x1: left, x2: left, y1: begin, y2: bottom }, drawn('title', {}, words)));
    if (row < 0) return;
    const [anchor, shift] = isBefore ? ['end', -WORDS.beside] : ['start', WORDS.beside];
    made.push(drawn('text', { class: 'tick change', x: left, dx: shift, y: begin + 10, 'text-anchor': anchor }, words));
  });
  return made;
}
