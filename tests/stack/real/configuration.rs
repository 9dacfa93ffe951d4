//! Every configuration in `collector-config` is one that the collector takes.

use std::process::Command;

use stepscope_stack_tests::program::LIMIT;
use stepscope_stack_tests::stack;
use stepscope_testkit::{TempFolder, binaries, process};

#[test]
fn the_collector_takes_every_configuration() {
    let folder = TempFolder::new("configuration").expect("a folder");
    let collector = stack::path("collector").expect("a path");
    let validate = |text: &str| {
        let file = folder.join("configuration.yaml");
        std::fs::write(&file, text).expect("written");
        let mut command = Command::new(&collector);
        command.arg("validate").arg("--config").arg(file).env("COLLECTOR_DATA", folder.path());
        process::run(&mut command, LIMIT).expect("the collector is built: scripts/stack build").success()
    };
    let mut seen = 0;
    let files = std::fs::read_dir(binaries::repository().join("collector-config")).expect("configurations");
    for file in files {
        let path = file.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "yaml") || path.ends_with("builder.yaml") {
            continue;
        }
        seen += 1;
        let text = std::fs::read_to_string(&path).expect("text");
        validate(&text).unwrap_or_else(|problem| panic!("{}: {problem}", path.display()));
        // The check can fail.
        let misspelt = text.replace("memory_limiter:", "memory_limit:");
        assert!(validate(&misspelt).is_err(), "{}: a misspelt name passes", path.display());
    }
    assert_eq!(seen, 2);
}
