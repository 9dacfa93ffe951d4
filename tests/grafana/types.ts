// A board as it is written to grafana/dashboards, and one of a report, in Grafana's own types: the dashboard by @grafana/schema, what only one
// kind of panel has by the types of its plugin, queries of Prometheus by types of our own, as Grafana publishes none.

import type {
  AnnotationQuery, Dashboard, DataSourceRef, DataTransformerConfig, FieldConfig, MatcherConfig, Panel, VariableModel,
} from '@grafana/schema';
import type * as bargauge from '@grafana/schema/dist/esm/raw/composable/bargauge/panelcfg/x/BarGaugePanelCfg_types.gen';
import type * as stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type * as table from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen';
import type * as text from '@grafana/schema/dist/esm/raw/composable/text/panelcfg/x/TextPanelCfg_types.gen';
import type * as timeseries from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';
import type * as trend from '@grafana/schema/dist/esm/raw/composable/trend/panelcfg/x/TrendPanelCfg_types.gen';

// The same with the words of enumerations, which is what JSON has.
type Words<T> = 0 extends 1 & T ? T
  : T extends string ? `${T}`
  : T extends object ? { [K in keyof T]: Words<T[K]> }
  : T;

interface Query {
  datasource: DataSourceRef;
  editorMode: 'code';
  exemplar: boolean;
  expr: string;
  format: 'time_series' | 'table';
  instant: boolean;
  legendFormat: string;
  range: boolean;
  refId: string;
}

// Data inside of the board, as the built-in data source has them.
interface Snapshot {
  datasource: { type: 'datasource'; uid: 'grafana' };
  queryType: 'snapshot';
  refId: string;
  snapshot: Array<{
    schema: {
      name: string;
      refId: string;
      meta?: { preferredVisualisationType: 'flamegraph' };
      fields: Array<{ name: string; type: 'number' | 'string'; config: FieldConfig }>;
    };
    data: { values: Array<Array<number | string | null>> };
  }>;
}

interface Mark extends Omit<AnnotationQuery, 'target'> {
  expr: string;
  step: string;
  tagKeys: string;
  textFormat: string;
  titleFormat: string;
}

interface Variable extends Omit<VariableModel, 'query'> {
  query: string | { qryType: 1; query: string; refId: string };
}

interface Link { targetBlank: boolean; title: string; url: string }

interface Fields<Custom> {
  defaults: Omit<FieldConfig, 'custom' | 'links'> & { custom?: Custom; links?: Link[] };
  overrides: Array<{
    matcher: MatcherConfig;
    properties: Array<{
      id: 'custom.cellOptions' | 'custom.inspect' | 'custom.width' | 'displayName' | 'links' | 'mappings' | 'noValue' | 'thresholds' | 'unit';
      value: unknown;
    }>;
  }>;
}

interface Transformation extends Omit<DataTransformerConfig, 'id'> { id: 'merge' | 'organize' }

interface PanelOf<Type, Options, Custom, Target = Query>
  extends Omit<Panel, 'type' | 'options' | 'targets' | 'fieldConfig' | 'transformations'> {
  type: Type;
  options: Options;
  targets: Target[];
  fieldConfig: Fields<Custom>;
  transformations?: Transformation[];
}

type AnyPanel =
  | PanelOf<'timeseries', timeseries.Options, timeseries.FieldConfig>
  | PanelOf<'stat', stat.Options, never>
  | PanelOf<'bargauge', bargauge.Options, never>
  | PanelOf<'table', table.Options, table.FieldConfig>
  | PanelOf<'text', text.Options, never>;

export type Board = Words<Omit<Dashboard, 'annotations' | 'panels' | 'templating'> & {
  annotations: { list: Mark[] };
  panels: AnyPanel[];
  templating: { list: Variable[] };
}>;

type Nothing = Record<string, never>;

// Grafana publishes no types of the flame graph's options; it needs none.
type ReportPanel =
  | PanelOf<'stat', stat.Options, Nothing, Snapshot>
  | PanelOf<'bargauge', bargauge.Options, Nothing, Snapshot>
  | PanelOf<'table', table.Options, table.FieldConfig, Snapshot>
  | PanelOf<'trend', trend.Options, trend.FieldConfig, Snapshot>
  | PanelOf<'flamegraph', Nothing, Nothing, Snapshot>;

export type Report = Words<Omit<Dashboard, 'annotations' | 'panels' | 'templating'> & {
  annotations: { list: Mark[] };
  panels: ReportPanel[];
  templating: { list: Variable[] };
}>;
