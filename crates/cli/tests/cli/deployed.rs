//! The unit and the DaemonSet in `collector-config` that start `stepscope monitor`: well formed, and their lines are ones that
//! the program takes; and `grafana/compose.yaml`, whose files and addresses are there. That they run is not tested.
#![cfg(target_os = "linux")]

use std::process::Command;

use stepscope_testkit::binaries;
use yaml_rust2::{Yaml, YamlLoader};

use crate::program::{folder, run};

fn text(name: &str) -> String {
    let path = binaries::repository().join("collector-config").join(name);
    std::fs::read_to_string(path).expect("it is there")
}

/// Whether the program takes these, read once instead of served.
fn assert_taken(arguments: &[&str]) {
    let folder = folder("deployed");
    // An address of nobody's: the line is taken, and listening fails.
    let ended = run(folder.path(), arguments);
    assert!(
        ended.code == 3 && ended.stderr.contains("this machine has no such address"),
        "{arguments:?}: {} {}",
        ended.code,
        ended.stderr
    );
}

/// TEST-NET-1: documentation's.
const NOBODY: &str = "192.0.2.1";

#[test]
fn the_unit_is_one_and_its_lines_are_taken() {
    let text = text("stepscope-monitor.service");
    let lines: Vec<Vec<&str>> = text
        .lines()
        .filter_map(|line| line.trim_start_matches('#').strip_prefix("ExecStart=/usr/local/bin/stepscope "))
        .map(|line| line.split(' ').collect())
        .collect();
    let [scraped, pushing] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(scraped[..2], ["monitor", "--listen"]);
    let nobody = format!("{NOBODY}:9101");
    assert_taken(&["monitor", "--listen", &nobody, "--allow-remote"]);
    assert_eq!(pushing[..2], ["monitor", "--otlp"]);
    assert_taken(&[&pushing[..], &["--listen", &nobody, "--allow-remote"]].concat());
    let folder = folder("unit");
    // The program is not installed here.
    let file = folder.path().join("stepscope-monitor.service");
    let program = text.replace("/usr/local/bin/stepscope", env!("CARGO_BIN_EXE_stepscope"));
    std::fs::write(&file, program).expect("it is written");
    match Command::new("systemd-analyze").arg("verify").arg(&file).output() {
        Ok(verified) => {
            let said = String::from_utf8_lossy(&verified.stderr);
            // Of other units of the machine it may have something to say.
            let own: Vec<&str> = said.lines().filter(|line| line.contains("stepscope-monitor")).collect();
            assert_eq!(own, [""; 0]);
        }
        Err(_) => println!("SKIPPED: systemd-analyze is not there"),
    }
}

fn texts(list: &Yaml) -> Vec<String> {
    list.as_vec().into_iter().flatten().filter_map(Yaml::as_str).map(str::to_owned).collect()
}

#[test]
fn the_daemonset_is_one_and_its_line_is_taken() {
    let documents = YamlLoader::load_from_str(&text("stepscope-monitor.daemonset.yaml")).expect("YAML");
    let [set] = &documents[..] else { panic!("one document") };
    assert_eq!(set["kind"].as_str(), Some("DaemonSet"));
    let template = &set["spec"]["template"];
    assert_eq!(set["spec"]["selector"]["matchLabels"], template["metadata"]["labels"]);
    let container = &template["spec"]["containers"][0];
    let line = texts(&container["args"]);
    let variables: Vec<&str> =
        container["env"].as_vec().into_iter().flatten().filter_map(|entry| entry["name"].as_str()).collect();
    assert!(variables.contains(&"NODE_ADDRESS"), "{variables:?}");
    let port = container["ports"][0]["containerPort"].as_i64().map(|port| port.to_string());
    assert_eq!(port.as_deref(), template["metadata"]["annotations"]["prometheus.io/port"].as_str());
    let line: Vec<String> = line.iter().map(|word| word.replace("$(NODE_ADDRESS)", NOBODY)).collect();
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    assert!(line.iter().any(|word| word.ends_with(&format!(":{}", port.clone().unwrap_or_default()))));
    assert_taken(&line);
}

#[test]
fn containers_are_given_what_is_there() {
    let folder = binaries::repository().join("grafana");
    let text = std::fs::read_to_string(folder.join("compose.yaml")).expect("it is there");
    let documents = YamlLoader::load_from_str(&text).expect("YAML");
    let services = documents[0]["services"].as_hash().expect("services");
    let known: Vec<&str> = services.keys().filter_map(Yaml::as_str).collect();
    assert_eq!(known, ["collector", "jaeger", "prometheus", "grafana"]);
    for (name, service) in services {
        let image = service["image"].as_str().expect("an image");
        assert!(image.rsplit(':').next().is_some_and(|version| version.contains('.')), "{name:?}: {image}");
        for volume in texts(&service["volumes"]) {
            let source = volume.split(':').next().unwrap_or_default();
            let is_there = if source.starts_with('.') {
                folder.join(source).exists()
            } else {
                !documents[0]["volumes"][source].is_badvalue()
            };
            assert!(is_there, "{name:?}: {volume}");
        }
        for port in texts(&service["ports"]) {
            assert!(port.starts_with("127.0.0.1:"), "{port} is open to others");
        }
    }
    // The collector is given its configurations where they are mounted.
    for argument in texts(&services[&Yaml::from_str("collector")]["command"]) {
        let name = argument.strip_prefix("--config=/etc/stepscope/").expect("a configuration");
        assert!(binaries::repository().join("collector-config").join(name).is_file(), "{name}");
    }
}
