//! What changes slowly and may block (a file system of the network that does not answer): spaces and temperatures, by
//! `sysinfo`, on a thread of its own.

use std::sync::Arc;
use std::time::Duration;

use sysinfo::{Components, DiskRefreshKind, Disks};

use crate::snapshot::{Filesystem, Sensor, Snapshot};
use crate::watch::{Life, Watched};

/// More are left out.
const MAX_ENTRIES: usize = 64;

/// What it found.
#[derive(Debug, Default)]
pub(crate) struct Slow {
    filesystems: Vec<Filesystem>,
    sensors: Vec<Sensor>,
}

/// Starts the thread.
pub(crate) fn start(interval: Duration) -> Option<Arc<Watched<Slow>>> {
    Watched::start("stepscope-slow", move |watched| {
        loop {
            let slow = Slow { filesystems: filesystems(), sensors: sensors() };
            watched.publish(|found| *found = Some(slow));
            if !watched.pause(interval) {
                return;
            }
        }
    })
}

/// Takes what was found into the snapshot. And whether anything was found by now.
pub(crate) fn merge(watched: &Watched<Slow>, deadline: Duration, snapshot: &mut Snapshot) -> (Life, bool) {
    let (life, is_known) = watched.read(deadline, |slow| match slow {
        Some(slow) => {
            snapshot.filesystems.clone_from(&slow.filesystems);
            snapshot.sensors.clone_from(&slow.sensors);
            true
        }
        None => {
            snapshot.filesystems.clear();
            snapshot.sensors.clear();
            false
        }
    });
    (life, is_known || life != Life::Alive)
}

/// One entry a device: the same device elsewhere has the same space.
fn filesystems() -> Vec<Filesystem> {
    let disks = Disks::new_with_refreshed_list_specifics(DiskRefreshKind::nothing().with_storage());
    let mut found: Vec<Filesystem> = Vec::new();
    for disk in disks.list().iter().filter(|disk| disk.total_space() > 0) {
        let entry = Filesystem {
            device: disk.name().to_string_lossy().into(),
            mountpoint: disk.mount_point().to_string_lossy().into(),
            kind: disk.file_system().to_string_lossy().into(),
            used_bytes: disk.total_space().saturating_sub(disk.available_space()),
            free_bytes: disk.available_space(),
        };
        match found.iter_mut().find(|other| other.device == entry.device) {
            Some(other) if other.mountpoint.len() <= entry.mountpoint.len() => {}
            Some(other) => *other = entry,
            None => found.push(entry),
        }
    }
    found.sort_by(|one, other| one.mountpoint.cmp(&other.mountpoint));
    found.truncate(MAX_ENTRIES);
    found
}

fn sensors() -> Vec<Sensor> {
    let components = Components::new_with_refreshed_list();
    let mut found: Vec<Sensor> = Vec::new();
    for component in components.list() {
        let celsius = component.temperature().map(f64::from).filter(|celsius| celsius.is_finite());
        if found.iter().all(|other| *other.name != *component.label()) && celsius.is_some() {
            found.push(Sensor { name: component.label().into(), celsius });
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found.truncate(MAX_ENTRIES);
    found
}
