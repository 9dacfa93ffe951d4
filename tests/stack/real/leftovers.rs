//! `scripts/stack` leaves nothing behind.

use stepscope_stack_tests::http;
use stepscope_stack_tests::stack::Stack;

#[test]
fn what_was_stopped_is_gone() {
    let stack = Stack::start(&[], &[]).expect("the stack starts");
    let addresses = ["COLLECTOR_HEALTH", "COLLECTOR_OTLP_HTTP", "JAEGER_HEALTH", "JAEGER_QUERY"];
    for address in ["COLLECTOR_HEALTH", "JAEGER_HEALTH"] {
        // Jaeger's health lies elsewhere; that something answers is enough.
        let answer =
            http::get(stack.address(address), if address.starts_with('J') { "/status" } else { "/" });
        answer.expect("it answers");
    }
    stack.change("stop", "collector").expect("stops");
    stack.change("stop", "jaeger").expect("stops");
    for address in addresses {
        let connection = std::net::TcpStream::connect(stack.address(address));
        assert!(connection.is_err(), "{address} still listens");
    }
    assert!(stack.log("collector").contains("Shutdown complete"), "{}", stack.log("collector"));
    assert!(stack.log("jaeger").contains("Shutdown complete"), "{}", stack.log("jaeger"));
}
