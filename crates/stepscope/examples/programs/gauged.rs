//! Programs with gauges: what steps say, a section that is too long, a loop that is stuck, a crate that knows the facade `metrics`
//! alone.

use std::time::Duration;

use stepscope::{section, step, value};

pub(crate) fn run(what: &str) {
    let run = crate::start();
    match what {
        "short" => {
            for number in 40..43_u64 {
                let _step = step!(number);
                value!("loss", 1.0 / number as f64);
            }
        }
        "long" => {
            let _step = step!(0);
            let _section = section!("checkpoint");
            // As long as the rule lets a section be, and a little more.
            std::thread::sleep(Duration::from_millis(5_100));
        }
        "exchange" => {
            for number in 0..500_u64 {
                let _step = step!(number);
                let _exchange = section!("exchange", phase = Communication);
                std::thread::sleep(Duration::from_millis(15));
            }
        }
        "stuck" => {
            for number in 0..100_u64 {
                let _step = step!(number);
                std::thread::sleep(Duration::from_millis(20));
            }
            let _step = step!(100);
            let _section = section!("receive");
            // Until somebody writes, or closes it.
            std::io::stdin().read_line(&mut String::new()).unwrap();
        }
        "until_killed" => {
            for number in 0_u64.. {
                let _step = step!(number);
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        #[cfg(feature = "facade")]
        "facade" => facade(),
        other => panic!("no gauges are called {other:?}"),
    }
    drop(run);
}

/// Counts as a crate does that knows nothing of us, and says what a scrape has of it.
#[cfg(feature = "facade")]
fn facade() {
    use std::io::{Read, Write};
    use std::time::Instant;

    metrics::counter!("requests.total", "path" => "/a").increment(3);
    let _step = step!(0);
    let address = std::env::var("STEPSCOPE_METRICS_ADDR").unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let (count, run_infos) = loop {
        let mut text = String::new();
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        stream.read_to_string(&mut text).unwrap();
        let mut lines = text.lines();
        if let Some(count) = lines.find_map(|line| line.strip_prefix("requests_total{path=\"/a\"} ")) {
            let run_infos = text.lines().filter(|line| line.starts_with("stepscope_run_info{")).count();
            break (count.parse().unwrap(), run_infos);
        }
        assert!(Instant::now() < deadline, "{text}");
        std::thread::sleep(Duration::from_millis(20));
    };
    crate::say("scraped", count);
    crate::say("run_infos", run_infos as u64);
}
