// Draws boards with Grafana's own libraries, outside of Grafana: frames, units, thresholds, mappings, overrides and transformations
// by @grafana/data, plots, figures, bars, tables and legends by @grafana/ui. What Grafana's application does between those is here
// in short: Prometheus' answers become frames, panels have their places. Bundled for a browser by pictures.js.
// By `require`: what they publish as modules takes packages of the older kind for what Node makes of them, and bundled so tables
// and flame graphs are made of nothing.
"use strict";
const React = require("react");
const { createRoot } = require("react-dom/client");
require("uplot/dist/uPlot.min.css");
// Grafana's letters, whose widths its sizes come from.
require("@fontsource/inter/latin-400.css");
require("@fontsource/inter/latin-500.css");
const data = require("@grafana/data");
const ui = require("@grafana/ui");
const { TableNG } = require("@grafana/ui/unstable");
const { VizOrientation } = require("@grafana/schema");
const { FlameGraph } = require("@grafana/flamegraph");

const h = React.createElement;
const theme = data.createTheme({ colors: { mode: "dark" } });
const CELL = { width: 0, height: 30, gap: 8 };

// What an editor of fields in Grafana's application registers: each property's place and how an override becomes one.
const property = (id, process, isCustom = false) => ({
  id, path: id.replace(/^custom\./, ""), isCustom, name: id, process, shouldApply: () => true, editor: () => null, override: () => null,
});
const standard = [
  ["unit", data.unitOverrideProcessor], ["min", data.numberOverrideProcessor], ["max", data.numberOverrideProcessor],
  ["decimals", data.numberOverrideProcessor], ["displayName", data.displayNameOverrideProcessor],
  ["noValue", data.stringOverrideProcessor], ["color", data.identityOverrideProcessor],
  ["thresholds", data.thresholdsOverrideProcessor], ["mappings", data.valueMappingsOverrideProcessor],
  ["links", data.dataLinksOverrideProcessor],
];
// Other properties of a kind of panel would be dropped without a word.
const custom = [
  "align", "cellOptions", "drawStyle", "fillOpacity", "filterable", "inspect", "lineWidth", "showPoints", "spanNulls", "stacking", "width",
];
data.standardFieldConfigEditorRegistry.setInit(() => standard.map(([id, process]) => property(id, process)));
const registry = new data.FieldConfigOptionsRegistry();
registry.setInit(() => [
  ...standard.map(([id, process]) => property(id, process)),
  ...custom.map((id) => property(`custom.${id}`, data.identityOverrideProcessor, true)),
]);
data.standardTransformersRegistry.setInit(() =>
  // Some are exported by two names.
  [...new Map(Object.values(data.standardTransformers).map((transformation) => [transformation.id, transformation])).values()]
    .map((transformation) => ({ id: transformation.id, name: transformation.name, transformation: async () => transformation, editor: () => null })));

// As Grafana's data source of Prometheus does it: a frame a series for plots, one a query for tables.
function frames(answers, targets) {
  return targets.flatMap((target) => {
    const { resultType, result } = answers[target.refId] ?? { result: [] };
    const points = (series) => series.values ?? (series.value ? [series.value] : []);
    if (target.format === "table" && resultType === "vector") {
      if (result.length === 0) return [];
      const labels = [...new Set(result.flatMap((series) => Object.keys(series.metric)))].sort();
      return [{
        refId: target.refId,
        length: result.length,
        fields: [
          { name: "Time", type: data.FieldType.time, config: {}, values: result.map((series) => series.value[0] * 1000) },
          ...labels.map((name) => ({
            name, type: data.FieldType.string, config: { filterable: true }, values: result.map((series) => series.metric[name] ?? ""),
          })),
          { name: `Value #${target.refId}`, type: data.FieldType.number, config: {}, values: result.map((series) => Number(series.value[1])) },
        ],
      }];
    }
    return result.map((series) => {
      const name = target.legendFormat
        ? data.renderLegendFormat(target.legendFormat, series.metric)
        : JSON.stringify(series.metric);
      return {
        refId: target.refId,
        name,
        length: points(series).length,
        fields: [
          { name: "Time", type: data.FieldType.time, config: { interval: 1000 * window.answers.step }, values: points(series).map(([time]) => time * 1000) },
          {
            name: "Value", type: data.FieldType.number, labels: series.metric,
            config: { displayNameFromDS: name }, values: points(series).map(([, value]) => Number(value)),
          },
        ],
      };
    });
  });
}

const range = (answers) => {
  const from = data.dateTime(answers.from * 1000);
  const to = data.dateTime(answers.to * 1000);
  return { from, to, raw: { from, to } };
};

const transformed = (panel, input) =>
  new Promise((resolve, reject) =>
    data.transformDataFrame(panel.transformations ?? [], input, { interpolate: (text) => text })
      .subscribe({ next: resolve, error: reject }));

const overridden = (panel, input) =>
  data.applyFieldOverrides({
    data: input, fieldConfig: panel.fieldConfig, fieldConfigRegistry: registry, replaceVariables: (text) => text, theme, timeZone: "utc",
  });

function values(panel, frames, withSparkline) {
  return data.getFieldDisplayValues({
    fieldConfig: panel.fieldConfig, reduceOptions: panel.options.reduceOptions, replaceVariables: (text) => text, theme,
    data: frames, sparkline: withSparkline, timeZone: "utc",
  });
}

const repeated = (panel, list, size, render) =>
  h(ui.VizRepeater, {
    ...size, source: list, orientation: panel.options.orientation ?? VizOrientation.Auto, getValues: () => list, renderCounter: 1,
    autoGrid: true, itemSpacing: 4,
    getAlignmentFactors: (values) => data.getDisplayValueAlignmentFactors(values),
    renderValue: ({ value, alignmentFactors, width, height, orientation, count }) =>
      render(value, { width, height, alignmentFactors, orientation, count }),
  });

const KINDS = {
  timeseries: (panel, frames, size) =>
    h(ui.TimeSeries, { frames, ...size, timeRange: range(window.answers), timeZone: "utc", legend: panel.options.legend, options: panel.options }),
  trend: (panel, frames, size) =>
    h(ui.TimeSeries, {
      frames, ...size, timeRange: range(window.answers), timeZone: "utc", legend: panel.options.legend, options: panel.options,
      fields: {
        x: data.fieldMatchers.get(data.FieldMatcherID.byName).get(panel.options.xField),
        y: data.fieldMatchers.get(data.FieldMatcherID.numeric).get({}),
      },
    }),
  stat: (panel, frames, size) => {
    const list = values(panel, frames, panel.options.graphMode !== "none");
    return repeated(panel, list, size, (value, place) =>
      h(ui.BigValue, {
        value: value.display, sparkline: value.sparkline, theme, width: place.width, height: place.height, count: list.length,
        colorMode: panel.options.colorMode, graphMode: panel.options.graphMode, justifyMode: panel.options.justifyMode,
        textMode: list.length > 1 ? "value_and_name" : panel.options.textMode, alignmentFactors: place.alignmentFactors,
        wideLayout: panel.options.wideLayout,
      }));
  },
  bargauge: (panel, frames, size) =>
    repeated(panel, values(panel, frames, false), size, (value, place) =>
      h(ui.BarGauge, {
        value: value.display, field: value.field, display: value.view?.getFieldDisplayProcessor(value.colIndex), theme,
        width: place.width, height: place.height, orientation: place.orientation, alignmentFactors: place.alignmentFactors,
        displayMode: panel.options.displayMode, showUnfilled: panel.options.showUnfilled, itemSpacing: 8, lcdCellWidth: 12,
        namePlacement: panel.options.namePlacement, valueDisplayMode: panel.options.valueMode,
      })),
  // The one that Grafana's panel is made of; all rows, as what is scrolled to is not there otherwise.
  table: (panel, frames, size) =>
    h(TableNG, {
      data: frames[0], ...size, sortBy: panel.options.sortBy, sortByBehavior: "initial", fieldConfig: panel.fieldConfig, enableVirtualization: false,
      enablePagination: panel.options.enablePagination, cellHeight: panel.options.cellHeight, noHeader: !panel.options.showHeader,
      noValue: panel.fieldConfig.defaults.noValue, timeRange: range(window.answers), structureRev: 1, getActions: () => [],
    }),
  flamegraph: (panel, frames, size) =>
    h("div", { style: { ...size, overflow: "hidden" } },
      h(FlameGraph, { data: frames[0], getTheme: () => theme, stickyHeader: false, enableNewUI: false, keepFocusOnDataChange: false })),
};

class Caught extends React.Component {
  state = {};
  static getDerivedStateFromError(error) {
    return { error };
  }
  render() {
    return this.state.error ? h("pre", { className: "failed" }, String(this.state.error.stack)) : this.props.children;
  }
}

function inside(panel, frames, size) {
  if (panel.type === "text") {
    return h("div", { className: "markdown-html", dangerouslySetInnerHTML: { __html: data.renderTextPanelMarkdown(panel.options.content) } });
  }
  const isEmpty = frames.every((frame) => frame.length === 0);
  if (isEmpty) return h("div", { className: "empty", style: size }, panel.fieldConfig.defaults.noValue ?? "No data");
  return h(Caught, null, KINDS[panel.type](panel, frames, size));
}

// What a panel says, for tests: how its values are formatted and coloured, the names of its series or columns.
function told(panel, frames) {
  const shown = frames.flatMap((frame) => frame.fields.map((field) => ({ field, frame })));
  const figures = panel.type === "stat" || panel.type === "bargauge" ? values(panel, frames, false) : [];
  return {
    id: panel.id, kind: panel.type, title: panel.title, rows: frames.map((frame) => frame.length),
    names: shown.map(({ field, frame }) => data.getFieldDisplayName(field, frame, frames)),
    figures: figures.map(({ display }) => ({ text: data.formattedValueToString(display), color: display.color, numeric: display.numeric })),
    samples: shown.map(({ field }) => {
      const value = field.values.find((value) => value !== null && value !== undefined);
      return value === undefined || !field.display ? "" : data.formattedValueToString(field.display(value));
    }),
  };
}

window.colorOf = (name) => theme.visualization.getColorByName(name);

window.draw = async (board, answers) => {
  window.answers = answers ?? { from: 0, to: 1, step: 1, panels: {} };
  await Promise.all([400, 500].map((weight) => document.fonts.load(`${weight} 14px Inter`)));
  const width = document.documentElement.clientWidth;
  CELL.width = (width - CELL.gap) / 24;
  const panels = await Promise.all(board.panels.map(async (panel) => {
    const { x, y, w, h: tall } = panel.gridPos;
    const place = {
      left: CELL.gap + x * CELL.width, top: CELL.gap + y * (CELL.height + CELL.gap),
      width: w * CELL.width - CELL.gap, height: tall * (CELL.height + CELL.gap) - CELL.gap,
    };
    const unknown = Object.keys(panel.fieldConfig?.defaults?.custom ?? {}).filter((name) => !custom.includes(name));
    if (unknown.length > 0) throw new Error(`${panel.title}: the page does not know ${unknown}`);
    const snapshots = (panel.targets ?? []).flatMap((target) => target.snapshot ?? []).map(data.dataFrameFromJSON);
    const input = snapshots.length > 0 ? snapshots : frames(window.answers.panels[panel.id] ?? {}, panel.targets ?? []);
    const shown = overridden(panel, await transformed(panel, input));
    const element = h("section", { key: panel.id, "data-panel": panel.id, style: { position: "absolute", ...place } },
      h(ui.PanelChrome, { ...place, title: panel.title, description: panel.description, padding: "none" },
        (innerWidth, innerHeight) => {
          const size = { width: innerWidth - 16, height: innerHeight - 8 };
          return h("div", { style: { padding: "0 8px 8px" } }, inside(panel, shown, size));
        }));
    return { element, told: told(panel, shown) };
  }));
  const bottom = Math.max(...board.panels.map((panel) => panel.gridPos.y + panel.gridPos.h));
  const root = document.getElementById("board");
  root.style.height = `${CELL.gap + bottom * (CELL.height + CELL.gap)}px`;
  window.root ??= createRoot(root);
  window.root.render(h(data.ThemeContext.Provider, { value: theme }, h(ui.GlobalStyles), ...panels.map((panel) => panel.element)));
  return panels.map((panel) => panel.told);
};
