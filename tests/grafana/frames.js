// Holds the board of a report against Grafana's own reading of data frames and against the JSON report on the same run: every
// frame is one by @grafana/data, its fields are equally long and of the types that they say, its figures are the report's, and
// the board is small. The figures are looked up in the report here, not by the program.
// usage: node frames.js FOLDER BOARD REPORT [BOARD REPORT]…: where @grafana/data is installed, then boards and JSON reports
"use strict";
const assert = require("assert");
const fs = require("fs");
const path = require("path");

const [folder, ...files] = process.argv.slice(2);
// Formats of dates ask a browser for its languages.
globalThis.navigator ??= { language: "en-US", languages: ["en-US"] };
const data = require(path.resolve(folder, "node_modules/@grafana/data"));

const LARGEST_BYTES = 1 << 20;
const ROWS = 300;
const LETTERS = 300;
const POINTS = 1000;

const short = (text) => (text.length > LETTERS ? `${[...text].slice(0, LETTERS).join("")}…` : text);
const orNull = (value) => value ?? null;
const known = (text) => (text === null || text === undefined ? null : short(text));

// Neighbours together, so that no more points than the bound are there.
function together(points) {
  const size = Math.max(1, Math.ceil(points.length / POINTS));
  return Array.from({ length: Math.ceil(points.length / size) }, (_, index) => points.slice(index * size, (index + 1) * size));
}
const sum = (list, of) => list.reduce((sum, entry) => sum + BigInt(of(entry)), 0n);
function mean(points, gauge) {
  const with_one = points.map((point) => point[gauge]).filter((gauge) => gauge !== null);
  const count = sum(with_one, (gauge) => gauge.count);
  return count === 0n ? null : Number(sum(with_one, (gauge) => BigInt(gauge.mean) * BigInt(gauge.count)) / count);
}

// The fields of each panel by their titles, as the report has them.
const TRUTH = {
  "Steps": (report) => [[report.summary.mode === null ? null : report.summary.steps]],
  "Step time, median": (report) => [[orNull(report.summary.step_time?.p50)]],
  "Step time, p95": (report) => [[orNull(report.summary.step_time?.p95)]],
  "Samples a second": (report) => [[report.summary.throughput.samples_per_second]],
  "Input": (report) => [[report.summary.input.share]],
  "Spans lost": (report) => [[report.losses.lost]],
  "Run": ({ run, summary }) =>
    [[short(summary.verdict)], [run.id === null ? undefined : short(run.id)], [known(run.service)], [known(run.host)], [run.ranks], [run.elapsed_ns]],
  "Findings": ({ findings }) => {
    const rows = findings.slice(0, ROWS);
    return [
      rows.map((row) => row.severity), rows.map((row) => short(row.title)), rows.map((row) => short(row.recommendation)),
      rows.map((row) => orNull(row.predicted_gain?.share)), rows.map((row) => known(row.section)), rows.map((row) => known(row.phase)),
      rows.map((row) => orNull(row.rank)), rows.map((row) => row.rule),
    ];
  },
  "Step times": (report) => {
    const groups = together(seriesOf(report));
    return [
      groups.map((points) => points[0].step),
      groups.map((points) => Number(sum(points, (point) => point.duration_sum_ns) / sum(points, (point) => point.count))),
      groups.map((points) => Math.min(...points.map((point) => point.duration_min_ns))),
      groups.map((points) => Math.max(...points.map((point) => point.duration_max_ns))),
    ];
  },
  "Memory": (report) => {
    const groups = together(seriesOf(report));
    return [groups.map((points) => points[0].step), groups.map((points) => mean(points, "live_bytes")), groups.map((points) => mean(points, "rss_bytes"))];
  },
  "Phases": ({ summary }) => {
    const rest = summary.steps_ns > 0 && summary.unattributed_ns !== null ? summary.unattributed_ns / summary.steps_ns : null;
    return [[...summary.phases.map((row) => short(row.phase)), "in no phase"], [...summary.phases.map((row) => row.exposed_share), rest]];
  },
  "Ranks": ({ ranks }) => {
    const rows = ranks.slice(0, ROWS);
    return [
      rows.map((row) => orNull(row.resource.rank)), rows.map((row) => row.steps.count), rows.map((row) => orNull(row.steps.p50)),
      rows.map((row) => orNull(row.steps.p95)), rows.map((row) => row.communication_per_step_ns),
    ];
  },
  "Sections": ({ sections }) => {
    const rows = [...sections].sort((a, b) => b.total - a.total || (a.path < b.path ? -1 : 1)).slice(0, ROWS);
    return [
      rows.map((row) => short(row.path)), rows.map((row) => orNull(row.phase)), rows.map((row) => row.count), rows.map((row) => row.total),
      rows.map((row) => orNull(row.self_ns ?? row.self_busy_ns)), rows.map((row) => orNull(row.p50)), rows.map((row) => orNull(row.p95)),
      rows.map((row) => orNull(row.max)), rows.map((row) => orNull(row.alloc?.alloc_bytes)),
    ];
  },
  // Boxes are looked at below: their order is a choice.
  "Flame graph": () => [],
};

function seriesOf(report) {
  const all = report.detailed_metrics.series;
  return (all.find((series) => series.mode === report.summary.mode) ?? all[0])?.points ?? [];
}

// A parent comes before its children, which together are no wider; the widest boxes are those of the longest sections.
function checkFlames(frame, report) {
  const [level, value, self] = ["level", "value", "self"].map((name) => frame.fields.find((field) => field.name === name).values);
  assert.strictEqual(level[0], 0, "one root");
  for (let row = 0; row < frame.length; row++) {
    let inside = 0;
    for (let below = row + 1; below < frame.length && level[below] > level[row]; below++) {
      if (level[below] === level[row] + 1) inside += value[below];
    }
    assert.ok(row === 0 || (level[row] > 0 && level[row] <= level[row - 1] + 1), `row ${row} hangs in the air`);
    assert.strictEqual(self[row], value[row] - inside, `own time of row ${row}`);
  }
  const longest = Math.max(...report.sections.filter((section) => section.depth === 1).map((section) => section.total));
  assert.ok(Math.max(...value.slice(1)) >= longest, "the longest section is there");
}

function check(boardFile, reportFile) {
  const text = fs.readFileSync(boardFile, "utf8");
  assert.ok(Buffer.byteLength(text) <= LARGEST_BYTES, `${boardFile} has ${Buffer.byteLength(text)} bytes`);
  const board = JSON.parse(text);
  const report = JSON.parse(fs.readFileSync(reportFile, "utf8"));
  let figures = 0;
  for (const panel of board.panels) {
    const place = `${boardFile}: ${panel.title}`;
    const [json] = panel.targets[0].snapshot;
    for (const frame of [data.dataFrameFromJSON(json), data.toDataFrame(json)]) {
      assert.ok(data.isDataFrame(frame), place);
      assert.strictEqual(frame.fields.length, json.schema.fields.length, place);
      for (const field of frame.fields) {
        const at = `${place}: ${field.name}`;
        assert.strictEqual(field.values.length, frame.length, `${at}: as long as the others`);
        assert.ok([data.FieldType.number, data.FieldType.string].includes(field.type), `${at}: ${field.type}`);
        assert.ok(field.values.every((value) => value === null || typeof value === field.type), `${at}: values of its type`);
        // What Grafana would guess from the values is what is said.
        const guessed = data.guessFieldTypeForField({ ...field, type: undefined });
        assert.ok(guessed === undefined || guessed === field.type, `${at}: looks like ${guessed}`);
        // A unit that Grafana does not know would be shown as its name.
        const { unit } = field.config;
        if (unit) assert.ok(data.getValueFormats().some((group) => group.submenu.some((format) => format.value === unit)), `${at}: ${unit}`);
      }
    }
    const frame = data.dataFrameFromJSON(json);
    assert.ok(panel.title in TRUTH, `${place}: what it has to say is not known`);
    TRUTH[panel.title](report).forEach((values, index) => {
      if (values === undefined) return;
      assert.deepStrictEqual(frame.fields[index].values, values, `${place}: ${frame.fields[index].name}`);
      figures += values.length;
    });
    if (panel.type === "flamegraph") checkFlames(frame, report);
  }
  assert.deepStrictEqual(board.panels.map((panel) => panel.title).sort(), Object.keys(TRUTH).sort(), "all panels are there");
  console.log(`${path.basename(boardFile)}: ${board.panels.length} frames, ${figures} figures of the report, ${Buffer.byteLength(text)} bytes of at most ${LARGEST_BYTES}`);
  return { board, report };
}

// The checks can fail: a figure that is another one, a field that is shorter, a text among numbers.
function spoilt(boardFile, reportFile) {
  const spoil = {
    figure: (board) => (board.panels[0].targets[0].snapshot[0].data.values[0][0] += 1),
    length: (board) => board.panels.find((panel) => panel.title === "Sections").targets[0].snapshot[0].data.values[2].pop(),
    type: (board) => (board.panels.find((panel) => panel.title === "Sections").targets[0].snapshot[0].data.values[3][0] = "long"),
  };
  for (const [what, change] of Object.entries(spoil)) {
    const board = JSON.parse(fs.readFileSync(boardFile, "utf8"));
    change(board);
    const file = path.join(folder, `spoilt-${what}.json`);
    fs.writeFileSync(file, JSON.stringify(board));
    assert.throws(() => check(file, reportFile), assert.AssertionError, `a wrong ${what} passes`);
  }
}

for (let index = 0; index + 1 < files.length; index += 2) check(files[index], files[index + 1]);
spoilt(files[0], files[1]);
