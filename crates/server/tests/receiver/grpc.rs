//! What is refused over gRPC, with which code.

use stepscope_server::Limits;
use stepscope_testkit::wire::grpc_message;

use crate::client::{Headers, call, call_path, gzip, receiver};

#[test]
fn codes_follow_the_specification() {
    let (_folder, receiver) = receiver("grpc-refused", Limits { message_bytes: 1_000, ..Limits::default() });
    let gzip_header: Headers<'_> = &[("grpc-encoding", "gzip")];
    let two = [grpc_message(0, b""), grpc_message(0, b"")].concat();
    let cases: [(Headers<'_>, Vec<u8>, u16, &str); 11] = [
        (&[], grpc_message(0, b"garbage"), 3, "not a message of traces"),
        (&[], grpc_message(0, &[0; 1_001]), 8, "more than 1000 bytes"),
        (gzip_header, grpc_message(1, &gzip(&[0; 100_000])), 8, "more than 1000 bytes"),
        (gzip_header, grpc_message(1, b"no gzip at all"), 3, "not gzip"),
        (&[], grpc_message(1, b""), 3, "no grpc-encoding"),
        (&[("grpc-encoding", "snappy")], grpc_message(1, b"x"), 12, "gzip"),
        (&[], grpc_message(7, b""), 3, "flag"),
        (&[], two, 12, "one message"),
        (&[], vec![], 12, "one message"),
        (&[], vec![0, 0, 0], 3, "shorter than its length"),
        (&[], grpc_message(0, b"abc")[..7].to_vec(), 3, "shorter than its length"),
    ];
    for (headers, body, code, words) in cases {
        let called = call(receiver.address(), "trace", headers, body);
        assert_eq!(called.code, code, "{headers:?}: {called:?}");
        assert!(called.message.contains(words), "{headers:?}: {called:?}");
    }
    let called = call_path(receiver.address(), "/some.Service/Export", &[], grpc_message(0, b""));
    assert_eq!(called.code, 12, "{called:?}");
    // A length that promises four gigabytes is not believed.
    let called = call(receiver.address(), "trace", &[], b"\0\xff\xff\xff\xff".to_vec());
    assert_eq!(called.code, 8, "{called:?}");
    assert_eq!(receiver.stop().refused, 13);
}
