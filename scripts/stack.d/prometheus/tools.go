//go:build tools

// Package tools names the program that this module exists to build: Prometheus, at the versions that go.mod and
// go.sum beside it pin. No code of ours is here.
package tools

import (
	_ "github.com/prometheus/prometheus/cmd/prometheus"
	_ "github.com/prometheus/prometheus/cmd/promtool"
)
