//! Passes every call on to a visitor of the caller's, and counts spans and points.

use stepscope_otlp::{
    EventHead, LinkHead, MetricHead, PointHead, ResourceHead, ScopeHead, SpanHead, Value, Visitor,
};

use super::State;

/// Passes every call on.
pub(super) struct Forward<'a> {
    visitor: &'a mut dyn Visitor,
    /// Spans passed on.
    spans: &'a mut u64,
    /// Points of metrics passed on.
    points: &'a mut u64,
}

impl<'a> Forward<'a> {
    pub(super) fn new(visitor: &'a mut dyn Visitor, state: &'a mut State) -> Self {
        Self { visitor, spans: &mut state.spans_read, points: &mut state.points_read }
    }
}

impl Visitor for Forward<'_> {
    fn resource_attribute(&mut self, key: &str, value: Value<'_>) {
        self.visitor.resource_attribute(key, value);
    }

    fn resource(&mut self, head: &ResourceHead<'_>) {
        self.visitor.resource(head);
    }

    fn resource_end(&mut self) {
        self.visitor.resource_end();
    }

    fn scope_attribute(&mut self, key: &str, value: Value<'_>) {
        self.visitor.scope_attribute(key, value);
    }

    fn scope(&mut self, head: &ScopeHead<'_>) {
        self.visitor.scope(head);
    }

    fn scope_end(&mut self) {
        self.visitor.scope_end();
    }

    fn span_attribute(&mut self, key: &str, value: Value<'_>) {
        self.visitor.span_attribute(key, value);
    }

    fn event_attribute(&mut self, key: &str, value: Value<'_>) {
        self.visitor.event_attribute(key, value);
    }

    fn event(&mut self, head: &EventHead<'_>) {
        self.visitor.event(head);
    }

    fn link_attribute(&mut self, key: &str, value: Value<'_>) {
        self.visitor.link_attribute(key, value);
    }

    fn link(&mut self, head: &LinkHead<'_>) {
        self.visitor.link(head);
    }

    fn span(&mut self, head: &SpanHead<'_>) {
        *self.spans += 1;
        self.visitor.span(head);
    }

    fn span_abandoned(&mut self) {
        self.visitor.span_abandoned();
    }

    fn metric(&mut self, head: &MetricHead<'_>) {
        self.visitor.metric(head);
    }

    fn point_attribute(&mut self, key: &str, value: Value<'_>) {
        self.visitor.point_attribute(key, value);
    }

    fn point(&mut self, head: &PointHead<'_>) {
        *self.points += 1;
        self.visitor.point(head);
    }

    fn metric_end(&mut self) {
        self.visitor.metric_end();
    }
}
