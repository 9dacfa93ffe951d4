//! Every configuration in `collector-config` is one that the collector takes.

use std::path::{Path, PathBuf};
use std::process::Command;

use stepscope_stack_tests::program::LIMIT;
use stepscope_stack_tests::stack::{self, Stack};
use stepscope_testkit::{TempFolder, binaries, process};

/// Configurations that need the collector with more in it.
const OF_THE_GATEWAY: [&str; 2] = ["gateway.yaml", "sampler.yaml"];

fn configurations() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(binaries::repository().join("collector-config")).expect("configurations");
    let is_one = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.ends_with(".yaml") && !name.starts_with("builder") && !name.contains("daemonset")
    };
    folder.map(|file| file.expect("a file").path()).filter(is_one).collect()
}

fn program_for(configuration: &Path) -> &'static str {
    if OF_THE_GATEWAY.iter().any(|name| configuration.ends_with(name)) {
        "collector-gateway"
    } else {
        "collector"
    }
}

/// The files that the collector is given for it: one that receives nothing goes beside laptop.yaml.
fn files_for(configuration: &Path, text: &str) -> Vec<PathBuf> {
    let laptop = configuration.with_file_name("laptop.yaml");
    let beside = (!text.contains("\nreceivers:")).then_some(laptop);
    beside.into_iter().chain([configuration.to_owned()]).collect()
}

#[test]
fn the_collector_takes_every_configuration() {
    let folder = TempFolder::new("configuration").expect("a folder");
    let validate = |program: &str, files: &[PathBuf]| {
        let mut command = Command::new(stack::path(program).expect("a path"));
        command.arg("validate").env("COLLECTOR_DATA", folder.path());
        for file in files {
            command.arg("--config").arg(file);
        }
        process::run(&mut command, LIMIT).expect("the collector is built: scripts/stack build").success()
    };
    let configurations = configurations();
    for path in &configurations {
        let text = std::fs::read_to_string(path).expect("text");
        let mut files = files_for(path, &text);
        validate(program_for(path), &files).unwrap_or_else(|problem| panic!("{}: {problem}", path.display()));
        // The check can fail.
        let misspelt = folder.join("misspelt.yaml");
        std::fs::write(&misspelt, text.replace("exporters:", "exporter:")).expect("written");
        files.pop();
        files.push(misspelt);
        assert!(validate(program_for(path), &files).is_err(), "{}: a misspelt name passes", path.display());
    }
    let is_there = |name: &str| configurations.iter().any(|path| path.ends_with(name));
    assert!(["laptop.yaml", "production.yaml"].iter().chain(&OF_THE_GATEWAY).all(|name| is_there(name)));
}

#[test]
fn every_configuration_starts() {
    for path in configurations() {
        let text = std::fs::read_to_string(&path).expect("text");
        let files: Vec<_> = files_for(&path, &text).iter().map(|file| file.display().to_string()).collect();
        let mut arguments = vec!["collector"];
        arguments.extend(files.iter().flat_map(|file| ["--config", file]));
        let settings = [("STACK_COLLECTOR", program_for(&path))];
        let stack =
            Stack::start(&arguments, &settings).unwrap_or_else(|problem| panic!("{path:?}: {problem}"));
        let log = stack.log("collector");
        assert!(log.contains("Everything is ready"), "{path:?}: {log}");
        assert!(!log.contains("deprecated"), "{path:?}: {log}");
        stack.change("stop", "collector").expect("it stops");
    }
}

#[test]
fn both_kinds_of_samplers_keep_the_same() {
    let policies = |name: &str| {
        let text = std::fs::read_to_string(binaries::repository().join("collector-config").join(name));
        let text = text.expect("text");
        let block = text.split("  tail_sampling:").nth(1).expect("a block").to_owned();
        block.split("\n\n").next().expect("its end").to_owned()
    };
    assert_eq!(policies("production.yaml"), policies("sampler.yaml"));
}
