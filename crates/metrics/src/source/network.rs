//! Network: `/proc/net/dev` every pass, counts of connections now and then. All of it is of the network namespace.

use std::sync::Arc;

use super::Root;
use super::file::{Buffer, Input};
use super::parse::{lines, number, words};
use crate::snapshot::{Interface, Snapshot};

/// Interfaces that have figures; more are left out.
const MAX_INTERFACES: usize = 64;
/// The machine's ends of containers' interfaces: there may be hundreds, and they come and go.
const ENDS: &str = "veth";

#[derive(Debug)]
pub(super) struct Network {
    interfaces: Input,
    snmp: Input,
    sockets: Input,
    names: Vec<Arc<str>>,
}

impl Network {
    pub(super) fn new(root: &Root) -> Self {
        Self {
            interfaces: root.input("proc/net/dev"),
            snmp: root.input("proc/net/snmp"),
            sockets: root.input("proc/net/sockstat"),
            names: Vec::new(),
        }
    }

    pub(super) fn read(&mut self, buffer: &mut Buffer, snapshot: &mut Snapshot, is_slow: bool) {
        if is_slow {
            snapshot.host.tcp_established = self.snmp.read(buffer).and_then(established);
            let waiting = self.sockets.read(buffer);
            snapshot.host.tcp_time_wait = waiting.and_then(time_wait);
        }
        let interfaces = &mut snapshot.interfaces;
        let Some(text) = self.interfaces.read(buffer) else {
            interfaces.clear();
            return;
        };
        let mut count = 0;
        for line in lines(text) {
            let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
            let (name, figures) = line.split_at(colon);
            let name = name.trim_ascii();
            if name.starts_with(ENDS.as_bytes()) || count == MAX_INTERFACES {
                continue;
            }
            let mut numbers = [None; 12];
            for (slot, field) in numbers.iter_mut().zip(words(figures.get(1..).unwrap_or_default())) {
                *slot = number(field);
            }
            let [
                received,
                packets_in,
                errors_in,
                dropped_in,
                _,
                _,
                _,
                _,
                sent,
                packets_out,
                errors_out,
                dropped_out,
            ] = numbers;
            let Some(name) = known(&mut self.names, name) else { continue };
            let interface = Interface {
                name,
                bytes: [received, sent],
                packets: [packets_in, packets_out],
                errors: [errors_in, errors_out],
                dropped: [dropped_in, dropped_out],
            };
            super::put(interfaces, count, interface);
            count += 1;
        }
        interfaces.truncate(count);
    }
}

fn known(names: &mut Vec<Arc<str>>, name: &[u8]) -> Option<Arc<str>> {
    if let Some(known) = names.iter().find(|known| known.as_bytes() == name) {
        return Some(Arc::clone(known));
    }
    let text: Arc<str> = std::str::from_utf8(name).ok()?.into();
    if names.len() < 4 * MAX_INTERFACES {
        names.push(Arc::clone(&text));
    }
    Some(text)
}

/// The column `CurrEstab` of the two lines `Tcp:`.
fn established(text: &[u8]) -> Option<u64> {
    let mut tcp = lines(text).filter(|line| line.starts_with(b"Tcp:"));
    let (heads, figures) = (tcp.next()?, tcp.next()?);
    let column = words(heads).position(|word| word == b"CurrEstab")?;
    words(figures).nth(column).and_then(number)
}

/// `TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 98`.
fn time_wait(text: &[u8]) -> Option<u64> {
    let line = lines(text).find(|line| line.starts_with(b"TCP:"))?;
    words(line).skip_while(|word| *word != b"tw").nth(1).and_then(number)
}
