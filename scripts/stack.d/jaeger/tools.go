//go:build tools

// Package tools names the program that this module exists to build: Jaeger, at the versions that go.mod and
// go.sum beside it pin. No code of ours is here.
//
// Of the libraries that are not the collector's own, those that ../collector uses as well are at its versions, as far as
// Jaeger compiles with them: two thirds of what the collector consists of are compiled once, for both.
package tools

import _ "github.com/jaegertracing/jaeger/cmd/jaeger"
