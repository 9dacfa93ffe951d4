// The flame graph as Grafana's panel of that kind draws it.
import * as React from "react";
import { FlameGraph as Container } from "@grafana/flamegraph";

export const FlameGraph = ({ frame, theme, width, height }) =>
  React.createElement("div", { style: { width, height, overflow: "hidden" } },
    React.createElement(Container, { data: frame, getTheme: () => theme, stickyHeader: false, enableNewUI: false, keepFocusOnDataChange: false }));
