//! A program whose log has the ids of its spans. What it logs says by itself where it is: `in NAME`, or `outside`.

use stepscope::{WithIds, section, step};
use tracing::{Level, debug_span, info, info_span, instrument};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

#[instrument(fields(stepscope.phase = "forward"))]
fn forward() {
    info!("in forward");
    let _conv = section!("conv", samples = 3);
    info!(loss = 0.5, "in conv");
}

/// `has_spans`: whether the log's registry has those that stepscope has none of.
fn work(has_spans: bool) {
    info!("outside");
    {
        let _alone = section!("alone");
        info!("in alone");
    }
    let other = info_span!("other");
    let _step = step!(7);
    info!("in step");
    forward();
    debug_span!("unseen").in_scope(|| info!("in step"));
    info!(parent: &other, "in other");
    info!(parent: None, "outside");
    if has_spans {
        let unseen = debug_span!(parent: &other, "unseen");
        info!(parent: &unseen, "in other");
    }
    // Lines that begin as an object does, where nothing else is in front.
    info!("{{no object");
    info!("{{}}");
    let elsewhere = std::thread::Builder::new().name("elsewhere".into());
    elsewhere.spawn(|| info!("outside")).unwrap().join().unwrap();
}

/// `form` is `text`, `json`, `bare` (the message alone) or `flat` (the event's fields alone, in an object); `place` is where
/// the log is: `below` the layer, `above` it, or there without spans (`filtered`).
pub(crate) fn run(form: &str, place: &str) {
    let is_filtered = place == "filtered";
    macro_rules! log {
        ($($setting:tt)*) => {
            fmt::layer()
                .with_ansi(false)
                .with_writer(std::io::stdout)
                $($setting)*
                .map_event_format(WithIds::new)
                .with_filter(filter_fn(move |metadata| match is_filtered {
                    true => metadata.is_event(),
                    false => *metadata.level() <= Level::DEBUG,
                }))
        };
    }
    // Not a function: the log's type depends on what is below it.
    macro_rules! with {
        ($($setting:tt)*) => {
            if crate::is_root() {
                let inner = tracing_subscriber::registry().with(log!($($setting)*));
                let (root, run) = stepscope::builder().subscriber(inner);
                root.init();
                run
            } else {
                let (layer, run) = stepscope::builder().build();
                match place {
                    "above" => tracing_subscriber::registry().with(layer).with(log!($($setting)*)).init(),
                    _ => tracing_subscriber::registry().with(log!($($setting)*)).with(layer).init(),
                }
                run
            }
        };
    }
    let _run = match form {
        "text" => with!(),
        "json" => with!(.json()),
        "bare" => with!(.without_time().with_level(false).with_target(false)),
        "flat" => with!(.json().flatten_event(true).without_time().with_level(false).with_target(false)),
        other => panic!("{other}"),
    };
    work(place != "filtered");
}
