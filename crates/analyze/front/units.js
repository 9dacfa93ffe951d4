'use strict';
// Figures in the units people read: the same words as `report::units` writes. Small helpers for elements.

/** Rounded to some decimals; halves away from zero. */
function rounded(value, digits) {
  return Math.sign(value) * Math.round(Math.abs(value) * 10 ** digits) / 10 ** digits;
}

/** With so many decimals. */
function decimals(value, digits) {
  return rounded(value, digits).toFixed(digits);
}

/** Three significant digits of a value below 1,000. */
function significant(value) {
  return decimals(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

function duration(ns) {
  if (ns < 1000) return `${Math.round(ns)} ns`;
  for (const [size, unit] of [[1e3, 'µs'], [1e6, 'ms'], [1e9, 's']]) {
    const scaled = ns / size;
    if (unit === 's' ? ns < 60e9 : scaled < 999.5) return `${significant(scaled)} ${unit}`;
  }
  const seconds = Math.round(ns / 1e9);
  const two = (value) => String(Math.floor(value)).padStart(2, '0');
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${two((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${two((seconds % 86400) / 3600)} h`;
}

function byteSize(count) {
  if (count < 1024) return `${Math.round(count)} B`;
  let unit = 'B';
  for (const next of ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB']) {
    if (count < 1023.5) break;
    count /= 1024;
    unit = next;
  }
  return `${significant(count)} ${unit}`;
}

/** Bytes that can be missing. */
function signedBytes(count) {
  return count < 0 ? `−${byteSize(-count)}` : byteSize(count);
}

function wholeNumber(value) {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ',');
}

function plainNumber(value) {
  if (value === 0 || (Math.abs(value) >= 1e-3 && Math.abs(value) < 1e6)) return String(Number(value.toPrecision(5)));
  return value.toExponential(3);
}

function percent(share) {
  const value = rounded(share, 6) * 100;
  if (!Number.isFinite(value)) return '?';
  if (value === 0) return '0 %';
  if (Math.abs(value) < 0.005) return '< 0.01 %';
  return `${decimals(value, Math.abs(value) < 0.995 ? 2 : Math.abs(value) < 9.95 ? 1 : 0)} %`;
}

/** An element with attributes and children; text is text. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** A path that may break behind its slashes, as `page::path` writes it. */
function breaking(path) {
  return path.split('/').flatMap((name, at, names) => (at + 1 < names.length ? [`${name}/`, element('wbr')] : [name]));
}

/** What is seen as one letter: with its marks, joined emoji, flags; as `letters` does. */
const LETTERS = /(?:[\u{1f1e6}-\u{1f1ff}]{2}|[^])(?:[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u064b-\u065f\u093a-\u094d\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f\u{1f3fb}-\u{1f3ff}\u{e0100}-\u{e01ef}]|\u200d[^]?)*/gu;

/** A path whose long names are cut in their middles, as `names::shortened` does. */
function shortened(path) {
  const longest = 72;
  const cut = (name) => {
    const letters = name.match(LETTERS) ?? [];
    if (letters.length <= longest) return name;
    return [...letters.slice(0, longest * 2 / 3), '…', ...letters.slice(1 - longest / 3)].join('');
  };
  return path.split('/').map(cut).join('/');
}

/** A name among other words, which keep their sides where it is written from right to left. */
function isolated(name) {
  return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(name) ? `\u2068${name}\u2069` : name;
}

/** An element of a drawing. */
function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

