//! Requests as plain as they get: one connection each, so that no client's retries or caches are between a test and a
//! server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Servers on this machine answer within this time, however busy it is.
const LIMIT: Duration = Duration::from_secs(60);

/// The body of `http://{address}{path}`.
///
/// # Errors
/// When there is no answer, or another than 200.
pub fn get(address: &str, path: &str) -> Result<String, String> {
    ask(address, &format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n"))
        .map_err(|problem| format!("failed to get http://{address}{path}: {problem}"))
}

/// Sends `json` to `http://{address}{path}`.
///
/// # Errors
/// When there is no answer, or another than 200: the server may have it all the same.
pub fn post(address: &str, path: &str, json: &str) -> Result<String, String> {
    let length = json.len();
    let head = format!(
        "POST {path} HTTP/1.0\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    ask(address, &(head + json))
        .map_err(|problem| format!("failed to post to http://{address}{path}: {problem}"))
}

fn ask(address: &str, request: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(address).map_err(failed)?;
    stream.set_read_timeout(Some(LIMIT)).map_err(failed)?;
    // HTTP/1.0: the body ends with the connection and comes in one piece.
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(failed)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    match head.split(' ').nth(1) {
        Some("200") => Ok(body.to_owned()),
        _ => Err(format!("{head}\n{body}")),
    }
}
