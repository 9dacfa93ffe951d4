"""A program that knows OpenTelemetry and nothing of stepscope: steps with two sections each, and a counter of them.
Sends with the SDK's exporter for gRPC or HTTP, or, as `api`, leaves everything to `opentelemetry-instrument`."""

import sys

from opentelemetry import metrics, trace


def configure(way):
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    if way == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    else:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    tracers = TracerProvider()
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(tracers)
    meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())])
    metrics.set_meter_provider(meters)
    return [tracers, meters]


def main():
    way, steps = sys.argv[1], int(sys.argv[2])
    providers = [] if way == "api" else configure(way)
    tracer = trace.get_tracer("program")
    counter = metrics.get_meter("program").create_counter("steps")
    for number in range(steps):
        with tracer.start_as_current_span("step", attributes={"stepscope.step": number}):
            with tracer.start_as_current_span("forward"):
                pass
            with tracer.start_as_current_span("backward"):
                pass
        counter.add(1)
    for provider in providers:
        provider.shutdown()


main()
