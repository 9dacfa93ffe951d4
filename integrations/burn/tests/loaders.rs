//! The wrapped loaders give what burn's own give: every item, in every epoch, errors included. What a profile makes
//! of them is for the examples to show.

use std::sync::Arc;

use burn::data::dataloader::batcher::Batcher;
use burn::data::dataloader::{DataLoader, DataLoaderBuilder};
use burn::data::dataset::{Dataset, DatasetError, InMemDataset};
use burn::tensor::Device;

#[derive(Clone)]
struct Whole;

impl Batcher<u32, Vec<u32>> for Whole {
    fn batch(&self, items: Vec<u32>, _: &Device) -> Vec<u32> {
        items
    }
}

/// Has no item 5.
struct Broken;

impl Dataset<u32> for Broken {
    fn get(&self, index: usize) -> Result<u32, DatasetError> {
        if index == 5 {
            Err(DatasetError::new(std::io::Error::other("unreadable")))
        } else {
            Ok(index as u32)
        }
    }

    fn len(&self) -> usize {
        8
    }
}

fn wrapped<D: Dataset<u32> + 'static>(items: D, workers: usize) -> Arc<dyn DataLoader<Vec<u32>>> {
    let loader = stepscope_burn::loader("train", Whole, |batcher| {
        DataLoaderBuilder::new(batcher).batch_size(4).shuffle(1).num_workers(workers).build(items)
    });
    stepscope_burn::steps(loader)
}

fn sorted(batches: &Arc<dyn DataLoader<Vec<u32>>>) -> Vec<u32> {
    let mut items: Vec<u32> = batches.iter().flat_map(|batch| batch.expect("readable")).collect();
    items.sort_unstable();
    items
}

#[test]
fn every_epoch_has_every_item() {
    for workers in [0, 1, 3] {
        let batches = wrapped(InMemDataset::new((0..27).collect()), workers);
        assert_eq!(batches.num_items(), 27);
        for _ in 0..3 {
            assert_eq!(sorted(&batches), (0..27).collect::<Vec<_>>(), "{workers} workers");
        }
    }
}

#[test]
fn progress_is_that_of_the_loader() {
    let batches = wrapped(InMemDataset::new((0..8).collect()), 0);
    let mut batches = batches.iter();
    assert_eq!(batches.next().map(|batch| batch.map(|items| items.len()).ok()), Some(Some(4)));
    assert_eq!((batches.progress().items_processed, batches.progress().items_total), (4, 8));
}

#[test]
fn errors_of_the_dataset_come_through() {
    for workers in [0, 2] {
        let results: Vec<_> = wrapped(Broken, workers).iter().take(2).collect();
        assert!(results.iter().any(Result::is_err), "{workers} workers: {results:?}");
    }
}

#[test]
fn parts_and_other_devices_keep_the_wrapping() {
    let batches = wrapped(InMemDataset::new((0..27).collect()), 0);
    assert_eq!(sorted(&batches.slice(4, 12)).len(), 8);
    assert_eq!(sorted(&batches.to_device(&Device::default())), (0..27).collect::<Vec<_>>());
}

#[test]
fn a_copy_of_a_batch_is_a_batch() {
    struct Count;
    impl Batcher<u32, u32> for Count {
        fn batch(&self, items: Vec<u32>, _: &Device) -> u32 {
            items.iter().sum()
        }
    }
    let mut copied = None;
    let loader = stepscope_burn::loader("train", Count, |batcher| {
        copied = Some(batcher.batch(vec![1, 2], &Device::default()).clone());
        DataLoaderBuilder::new(batcher).build(InMemDataset::new(vec![7]))
    });
    assert_eq!(copied.map(|batch| *batch.get()), Some(3));
    assert_eq!(loader.iter().map(Result::ok).collect::<Vec<_>>(), [Some(7)]);
}
