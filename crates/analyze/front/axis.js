// Axes of plots: round values of equal distance, and what is written beside them.

/** The next of 1, 2 and 5 of a power of ten that is not smaller. */
function roundSize(rough) {
  if (!(rough > 0 && Number.isFinite(rough))) return 0;
  const magnitude = 10 ** Math.floor(Math.log10(rough) + 1e-9);
  return [1, 2, 5, 10].map((step) => step * magnitude).find((size) => size >= rough * 0.9999) ?? 10 * magnitude;
}

/** Ticks from at or below `low` to at or above `high`. */
function axisBetween(low, high, step) {
  const first = Math.floor(low / step + 1e-9);
  const last = Math.max(Math.ceil(high / step - 1e-9), first + 1);
  return { step, ticks: Array.from({ length: Math.min(last - first, 8) + 1 }, (_, n) => (first + n) * step) };
}

/** From zero to at least `max`, in steps of 1, 2 or 5 of a power of ten (of `base`). */
function axisTo(max, base) {
  const rough = (max > 0 ? max : 1) / 4;
  const unit = base ** Math.floor(Math.log(rough) / Math.log(base) + 1e-9);
  // What is counted in whole numbers has no ticks between two of them.
  return axisBetween(0, max > 0 ? max : 1, Math.max(roundSize(rough / unit) * unit, 1));
}

const SECOND = 1e9;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Round times of which a minute, an hour or a day has a whole number. */
const OF_CLOCKS = [
  ...[20, 30].map((count) => count * SECOND), ...[1, 2, 5, 10, 20, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR), DAY,
];

/** The next round time that is not shorter: of more than seconds as clocks are read. */
function roundTime(rough) {
  if (rough <= 10 * SECOND) return roundSize(rough);
  return OF_CLOCKS.find((size) => size >= rough * 0.9999) ?? DAY * roundSize(rough / DAY);
}

/** From zero to at least `max` nanoseconds. */
function axisOfTime(max) {
  return axisBetween(0, max > 0 ? max : 1, Math.max(roundTime((max > 0 ? max : 1) / 4), 1));
}

/** What the axis reaches to, so that a few outliers do not press all others to the ground. */
function ceilingOf(values) {
  const sorted = Float64Array.from(values).sort();
  const max = sorted.length ? sorted[sorted.length - 1] : 0;
  const usual = sorted[sorted.length - 1 - Math.max(Math.floor(sorted.length / 50), 1)] ?? 0;
  return sorted.length >= 8 && usual > 0 && max >= 4 * usual ? 1.5 * usual : max;
}

/** Around zero and all values between two, in whole steps of 1, 2 or 5 of a power of ten (of `base`). */
function axisSigned(low, high, base) {
  const rough = Math.max((Math.max(high, 0) - Math.min(low, 0)) / 4, 1);
  const unit = base ** Math.floor(Math.log(rough) / Math.log(base) + 1e-9);
  return axisBetween(Math.min(low, 0), Math.max(high, 0), roundSize(rough / unit) * unit);
}

/** Around values of any range. */
function axisAround(low, high) {
  const most = Math.max(Math.abs(low), Math.abs(high));
  // One value lies in the middle.
  const least = low === high ? most / 4 : most * 1e-6;
  const axis = axisBetween(low, high, roundSize(Math.max((high / 2 - low / 2) / 2, least)) || 1);
  return axis.ticks.length > 1 && axis.ticks.every(Number.isFinite) ? axis : { ticks: [low, high], step: high - low };
}

/** A tick as a plain number: as many digits as tell it from its neighbours. */
function plainTick({ ticks, step }, tick) {
  if (tick === 0) return '0';
  const most = Math.max(Math.abs(ticks[0]), Math.abs(ticks[ticks.length - 1]));
  if (most >= 1e6 || step < 1e-4 || !Number.isFinite(step)) {
    const powers = Math.floor(Math.log10(Math.abs(tick))) - Math.floor(Math.log10(step) + 1e-9);
    const digits = Number.isFinite(powers) ? Math.min(Math.max(powers, 1), 15) : 1;
    return tick.toExponential(digits).replace(/\.?0+e/, 'e').replace('e+', 'e');
  }
  return tick.toFixed(Math.min(Math.max(-Math.floor(Math.log10(step) + 1e-9), 0), 6));
}

/** A value in words without the zeros behind its point, or behind its larger unit: `5 ms`, `2.5 MiB`, `2 h`. */
function shortWords(all) {
  const words = all.replace(/ 00 (s|min|h)$/, '');
  const end = words.includes(' ') ? words.indexOf(' ') : words.length;
  const [number, unit] = [words.slice(0, end), words.slice(end + 1)];
  const short = number.includes('.') ? number.replace(/\.?0+$/, '') : number;
  return short === '0' || !unit ? short : `${short} ${unit}`;
}

/** Round step numbers from `first` to `last`. */
function stepTicks(first, last) {
  const size = Math.max(roundSize(Math.max((last - first) / 6, 1)), 1);
  const ticks = [];
  for (let tick = Math.ceil(first / size) * size; tick <= last && ticks.length < 11; tick += size) ticks.push(tick);
  return ticks;
}

/** Times that are ticks of a logarithmic axis beyond seconds. */
const LADDER = [
  ...[1, 2, 5, 10, 20].map((count) => count * MINUTE), ...[1, 2, 5, 10].map((count) => count * HOUR), ...[1, 2, 5, 10, 100, 1000].map((count) => count * DAY),
];

/** Round times between two on a logarithmic axis. */
function logarithmicTicks(low, high) {
  const within = (tick) => tick >= low && tick <= high;
  const powers = Array.from({ length: 11 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
  const all = [...powers, ...LADDER].filter(within);
  if (all.length < 3) return axisBetween(low, high, Math.max(roundTime((high - low) / 4), 1)).ticks.filter(within);
  // Of a long axis only whole powers of a unit.
  const isPower = (count) => Math.abs(Math.log10(count) - Math.round(Math.log10(count))) < 1e-9;
  return all.length > 8 ? all.filter((tick) => [1, MINUTE, HOUR, DAY].some((unit) => isPower(tick / unit))) : all;
}

/** On which side of a place its words stand, so that they stay inside of the drawing. */
function anchorAt(share) {
  if (share < 0.06) return 'start';
  return share > 0.94 ? 'end' : 'middle';
}
