//! Open traces on disk, when they are too many for memory: split among temporary files by their ids, so that
//! each file can be finished by itself; a trace and those that continue it are in one. The files have no names and
//! vanish with the reader.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::PathBuf;
use std::sync::Arc;

use stepscope_core::identity::{TraceId, continuing};

use super::TRACE_OVERHEAD;
use super::hash::stable;
use super::open::OpenTrace;
use crate::Resource;
use crate::issues::FileId;

/// Files of one split, as a power of two.
const SPLIT_BITS: u32 = 4;
/// A file is split again at most this often; what is still too large then holds one trace, or ids made to
/// collide.
pub(crate) const MAX_LEVEL: u32 = 6;

/// One of the files.
#[derive(Debug)]
pub(crate) struct Part {
    file: BufWriter<File>,
    /// Memory that its content needs.
    pub(crate) bytes: u64,
    /// The only trace in it, while there is only one.
    only: Option<TraceId>,
    many: bool,
    /// Whether there are traces of which none continues another one of them.
    many_groups: bool,
    pub(crate) level: u32,
    /// Whether traces are apart from those that they continue.
    pub(crate) apart: bool,
}

/// The files of one split.
#[derive(Debug)]
pub(crate) struct Spill {
    parts: Vec<Part>,
    level: u32,
    apart: bool,
}

/// Some spans of a trace outside of memory: in a temporary file or in a partial.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) id: TraceId,
    /// The file they came from, or the first of those by name.
    pub(crate) file: FileId,
    /// The root's resource, if the root is among them.
    pub(crate) resource: Arc<Resource>,
    /// One record after the other.
    pub(crate) records: Vec<u8>,
}

impl Spill {
    /// Opens the files of a split; `level` 0 is the first one. `apart`: see [`Part::apart`].
    pub(crate) fn new(dir: Option<&PathBuf>, level: u32, apart: bool) -> io::Result<Self> {
        let parts = (0..1 << SPLIT_BITS)
            .map(|_| {
                let file = match dir {
                    Some(dir) => tempfile::tempfile_in(dir)?,
                    None => tempfile::tempfile()?,
                };
                let file = BufWriter::with_capacity(32 << 10, file);
                Ok(Part { file, bytes: 0, only: None, many: false, many_groups: false, level, apart })
            })
            .collect::<io::Result<_>>()?;
        Ok(Self { parts, level, apart })
    }

    /// Writes what is open of a trace.
    pub(crate) fn write(&mut self, open: &OpenTrace) -> io::Result<()> {
        self.write_piece(&open.id, open.file, &open.resource, &open.bytes)
    }

    /// Writes a piece of a trace.
    pub(crate) fn write_piece(
        &mut self,
        id: &TraceId,
        file: FileId,
        resource: &Resource,
        records: &[u8],
    ) -> io::Result<()> {
        let group = if self.apart { *id } else { continuing(id, 0) };
        let index = stable(&group) >> (64 - SPLIT_BITS * (self.level + 1)) & ((1 << SPLIT_BITS) - 1);
        let Some(part) = self.parts.get_mut(index as usize) else { return Ok(()) };
        let mut head = Vec::with_capacity(256);
        head.extend_from_slice(id);
        head.extend_from_slice(&file.0.to_le_bytes());
        write_resource(resource, &mut head);
        head.extend_from_slice(&(records.len() as u64).to_le_bytes());
        part.file.write_all(&head)?;
        part.file.write_all(records)?;
        part.bytes += (TRACE_OVERHEAD + records.len()) as u64;
        part.many |= part.only.is_some_and(|only| only != *id);
        part.many_groups |= part.only.is_some_and(|only| continuing(&only, 0) != continuing(id, 0));
        part.only = Some(*id);
        Ok(())
    }

    /// Makes sure that everything written is in the files.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.parts.iter_mut().try_for_each(|part| part.file.flush())
    }

    /// The files that hold something.
    pub(crate) fn into_parts(self) -> impl Iterator<Item = Part> {
        self.parts.into_iter().filter(|part| part.bytes > 0)
    }
}

impl Part {
    /// Whether splitting again can make it smaller.
    pub(crate) fn can_split(&self) -> bool {
        self.many && (self.level < MAX_LEVEL || !self.apart)
    }

    /// Whether it holds one trace and those that continue it.
    pub(crate) fn is_joined(&self) -> bool {
        self.many && !self.many_groups && !self.apart
    }

    /// The same pieces in smaller parts, a level deeper, or else each trace apart from those that it continues.
    pub(crate) fn split(self, dir: Option<&PathBuf>) -> io::Result<Spill> {
        let goes_on = self.apart || (self.many_groups && self.level < MAX_LEVEL);
        let mut split = match goes_on {
            true => Spill::new(dir, self.level + 1, self.apart)?,
            false => Spill::new(dir, 0, true)?,
        };
        let mut failed = Ok(());
        self.read(|piece| {
            if failed.is_ok() {
                failed = split.write_piece(&piece.id, piece.file, &piece.resource, &piece.records);
            }
        })?;
        failed?;
        split.flush()?;
        Ok(split)
    }

    /// Reads every piece back, in the order written.
    pub(crate) fn read(self, mut each: impl FnMut(Piece)) -> io::Result<()> {
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        let mut source = BufReader::with_capacity(256 << 10, file);
        // Pieces of one process mostly come in runs and share their resource.
        let mut resource = Arc::new(Resource::default());
        loop {
            let mut id = [0; 16];
            match source.read_exact(&mut id) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(error),
            }
            let file = FileId(read_number(&mut source)?);
            let next = read_resource(&mut source)?;
            if *resource != next {
                resource = Arc::new(next);
            }
            let len = u64::from_le_bytes(read_array(&mut source)?);
            let mut records = Vec::new();
            if (&mut source).take(len).read_to_end(&mut records)? as u64 != len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            each(Piece { id, file, resource: Arc::clone(&resource), records });
        }
    }
}

fn read_array<const N: usize>(source: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    source.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn read_number(source: &mut impl Read) -> io::Result<u32> {
    Ok(u32::from_le_bytes(read_array(source)?))
}

fn texts(resource: &Resource) -> [&String; 7] {
    [
        &resource.run_id,
        &resource.service_name,
        &resource.service_instance_id,
        &resource.host_name,
        &resource.creation_time,
        &resource.level,
        &resource.sdk,
    ]
}

fn numbers(resource: &Resource) -> [Option<i64>; 6] {
    [
        resource.attempt,
        resource.rank,
        resource.world_size,
        resource.pid,
        resource.cpus,
        resource.schema_version,
    ]
}

fn write_resource(resource: &Resource, out: &mut Vec<u8>) {
    for text in texts(resource) {
        out.extend_from_slice(&u32::try_from(text.len()).unwrap_or(0).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    }
    for number in numbers(resource) {
        out.push(u8::from(number.is_some()));
        out.extend_from_slice(&number.unwrap_or(0).to_le_bytes());
    }
}

fn read_resource(source: &mut impl Read) -> io::Result<Resource> {
    let mut text = || -> io::Result<String> {
        let len = u64::from(read_number(source)?);
        let mut bytes = Vec::new();
        (&mut *source).take(len).read_to_end(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
    };
    let (run_id, service_name, service_instance_id) = (text()?, text()?, text()?);
    let (host_name, creation_time, level, sdk) = (text()?, text()?, text()?, text()?);
    let mut number = || {
        let [present] = read_array(source)?;
        let value = i64::from_le_bytes(read_array(source)?);
        io::Result::Ok((present != 0).then_some(value))
    };
    Ok(Resource {
        run_id,
        attempt: number()?,
        rank: number()?,
        world_size: number()?,
        service_name,
        service_instance_id,
        host_name,
        pid: number()?,
        creation_time,
        cpus: number()?,
        level,
        schema_version: number()?,
        sdk,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back_as_they_were_and_all_of_a_trace_in_one_part() {
        let resource = Resource {
            run_id: "run".into(),
            rank: Some(-3),
            schema_version: Some(1),
            sdk: "é".into(),
            ..Resource::default()
        };
        let mut spill = Spill::new(None, 0, false).unwrap();
        for n in 0..200u8 {
            let id = [n % 50; 16];
            spill.write_piece(&id, FileId(7), &resource, &[n; 100]).unwrap();
        }
        spill.flush().unwrap();
        let mut homes = std::collections::HashMap::new();
        let mut count = 0;
        for (index, part) in spill.into_parts().enumerate() {
            part.read(|piece| {
                assert_eq!(*homes.entry(piece.id).or_insert(index), index);
                assert_eq!((piece.file, &*piece.resource), (FileId(7), &resource));
                assert_eq!(piece.records.len(), 100);
                count += 1;
            })
            .unwrap();
        }
        assert_eq!((count, homes.len()), (200, 50));
    }
}
