// Holds every board against Grafana's own types: each as a literal of TypeScript, as an imported JSON file would let
// misspellings pass. And misspells something at every level of a board, one after the other: each has to fail.
// usage: node check.js FOLDER REPORT: where @grafana/schema and typescript are installed, and the board of a report
"use strict";
const { execFileSync } = require("child_process");
const fs = require("fs");
const path = require("path");

const [folder, report] = process.argv.slice(2).map((name) => path.resolve(name));
const boards = path.join(__dirname, "../../grafana/dashboards");
const work = path.join(folder, "work");

const rename = (object, from, to) => {
  if (!object || !(from in object)) throw new Error(`there is no ${from} to misspell`);
  object[to] = object[from];
  delete object[from];
};
const panel = (board, type) => board.panels.find((panel) => panel.type === type);
const mapped = (board) =>
  board.panels.flatMap((panel) => panel.fieldConfig.overrides).find((override) => override.properties.length > 1);

// A level, and how a board is spoilt there.
const MUTANTS = {
  dashboard: (board) => rename(board, "graphTooltip", "graphTooltips"),
  dashboard_value: (board) => (board.schemaVersion = "42"),
  time: (board) => rename(board.time, "from", "form"),
  link: (board) => rename(board.links[0], "asDropdown", "asDropDown"),
  link_value: (board) => (board.links[0].type = "dashboard"),
  variable: (board) => rename(board.templating.list[1], "includeAll", "includeall"),
  variable_value: (board) => (board.templating.list[1].refresh = 7),
  variable_query: (board) => rename(board.templating.list[1].query, "qryType", "queryType"),
  annotation: (board) => rename(board.annotations.list[0], "iconColor", "iconColour"),
  annotation_query: (board) => rename(board.annotations.list[0], "expr", "expression"),
  panel: (board) => rename(board.panels[0], "gridPos", "gridpos"),
  panel_type: (board) => (panel(board, "timeseries").type = "timeserie"),
  place: (board) => rename(board.panels[0].gridPos, "w", "width"),
  options: (board) => rename(panel(board, "stat").options, "graphMode", "graphmode"),
  options_value: (board) => (panel(board, "stat").options.colorMode = "values"),
  legend: (board) => rename(panel(board, "timeseries").options.legend, "showLegend", "show"),
  tooltip_value: (board) => (panel(board, "timeseries").options.tooltip.mode = "all"),
  table_options: (board) => rename(panel(board, "table").options, "sortBy", "sortby"),
  field: (board) => rename(panel(board, "stat").fieldConfig.defaults, "noValue", "novalue"),
  field_color: (board) => (panel(board, "stat").fieldConfig.defaults.color.mode = "threshold"),
  thresholds: (board) => rename(panel(board, "stat").fieldConfig.defaults.thresholds, "steps", "step"),
  custom: (board) => rename(panel(board, "timeseries").fieldConfig.defaults.custom, "lineWidth", "linewidth"),
  custom_value: (board) => (panel(board, "timeseries").fieldConfig.defaults.custom.stacking.mode = "stacked"),
  custom_of_another_kind: (board) => (panel(board, "timeseries").fieldConfig.defaults.custom.cellOptions = { type: "auto" }),
  override: (board) => rename(mapped(board).matcher, "id", "name"),
  override_property: (board) => (mapped(board).properties[0].id = "displayname"),
  target: (board) => rename(panel(board, "timeseries").targets[0], "legendFormat", "legendformat"),
  target_value: (board) => (panel(board, "timeseries").targets[0].format = "timeseries"),
  transformation: (board) => (panel(board, "table").transformations[0].id = "merged"),
};

// The same of the board of a report.
const REPORT_MUTANTS = {
  source: (board) => (board.panels[0].targets[0].datasource.uid = "-- Grafana --"),
  frame: (board) => rename(board.panels[0].targets[0].snapshot[0].schema, "fields", "columns"),
  frame_field: (board) => (board.panels[0].targets[0].snapshot[0].schema.fields[0].type = "float"),
  trend: (board) => rename(panel(board, "trend").options, "xField", "x"),
};

const literal = (board, type = "Board") => `import type { ${type} } from "./types";\nexport const board: ${type} = ${JSON.stringify(board)};\n`;

fs.rmSync(work, { recursive: true, force: true });
fs.mkdirSync(work, { recursive: true });
fs.copyFileSync(path.join(__dirname, "types.ts"), path.join(work, "types.ts"));
const names = fs.readdirSync(boards).filter((name) => name.endsWith(".json")).map((name) => path.basename(name, ".json"));
for (const name of names) {
  const board = JSON.parse(fs.readFileSync(path.join(boards, `${name}.json`), "utf8"));
  fs.writeFileSync(path.join(work, `board_${name}.ts`), literal(board));
}
const training = fs.readFileSync(path.join(boards, "training.json"), "utf8");
for (const [level, spoil] of Object.entries(MUTANTS)) {
  const board = JSON.parse(training);
  spoil(board);
  fs.writeFileSync(path.join(work, `mutant_${level}.ts`), literal(board));
}
fs.writeFileSync(path.join(work, "board_report.ts"), literal(JSON.parse(fs.readFileSync(report, "utf8")), "Report"));
for (const [level, spoil] of Object.entries(REPORT_MUTANTS)) {
  const board = JSON.parse(fs.readFileSync(report, "utf8"));
  spoil(board);
  fs.writeFileSync(path.join(work, `mutant_report_${level}.ts`), literal(board, "Report"));
}
const options = { strict: true, noEmit: true, skipLibCheck: true, module: "esnext", moduleResolution: "bundler", target: "es2022", types: [] };
fs.writeFileSync(path.join(work, "tsconfig.json"), JSON.stringify({ compilerOptions: options, include: ["*.ts"] }));

let said = "";
try {
  execFileSync(process.execPath, [path.join(folder, "node_modules/typescript/bin/tsc"), "-p", work, "--pretty", "false"], {
    cwd: work, encoding: "utf8", maxBuffer: 1 << 28,
  });
} catch (error) {
  said = error.stdout || String(error);
}
const errors = said.split("\n").filter((line) => line.includes("error TS"));
const of = (file) => errors.filter((line) => line.startsWith(`${file}.ts(`));
const levels = Object.keys(MUTANTS).concat(Object.keys(REPORT_MUTANTS).map((level) => `report_${level}`));
const problems = names.concat("report").flatMap((name) => of(`board_${name}`)).concat(of("types"), errors.filter((line) => !/^\w+\.ts\(/.test(line)));
for (const level of levels) {
  if (of(`mutant_${level}`).length === 0) problems.push(`a misspelling passes at the level ${level}`);
}
if (names.length === 0) problems.push(`no boards in ${boards}`);
if (problems.length > 0) {
  console.error(problems.map((line) => line.slice(0, 600)).join("\n"));
  process.exit(1);
}
console.log(`${names.length} boards and that of a report have Grafana's types; ${levels.length} misspellings do not`);
