//! Sums of one group of spans by call path. Nothing is in them between groups, and memory is reused.

/// What was added, by paths of a tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct ByPath<T> {
    sums: Vec<T>,
    /// Paths that were added to; of those whose sum came back to zero some twice.
    touched: Vec<u32>,
}

impl<T: Copy + Default + PartialEq> ByPath<T> {
    /// Has `with` add to the sum of a path.
    #[inline]
    pub(crate) fn add(&mut self, path: u32, with: impl FnOnce(T) -> T) {
        let index = path as usize;
        if index >= self.sums.len() {
            self.sums.resize(index + 1, T::default());
        }
        if let Some(sum) = self.sums.get_mut(index) {
            if *sum == T::default() {
                self.touched.push(path);
            }
            *sum = with(*sum);
        }
    }

    /// Whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.touched.is_empty()
    }

    /// Paths with what is not zero; one whose sum came back to zero may be there twice.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, T)> {
        let sums = self.touched.iter().filter_map(|&path| Some((path, *self.sums.get(path as usize)?)));
        sums.filter(|&(_, sum)| sum != T::default())
    }

    /// The same, each once; a path is zero from then on.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (u32, T)> {
        let Self { sums, touched } = self;
        touched.drain(..).filter_map(|path| {
            let sum = std::mem::take(sums.get_mut(path as usize)?);
            (sum != T::default()).then_some((path, sum))
        })
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.drain().for_each(drop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_leaves_nothing_behind() {
        let mut sums = ByPath::default();
        for (path, amount) in [(7, 5), (2, 1), (7, 6), (3, 0), (4, 1), (4, -1), (4, 3)] {
            sums.add(path, |sum: i64| sum + amount);
        }
        assert_eq!(sums.drain().collect::<Vec<_>>(), [(7, 11), (2, 1), (4, 3)]);
        assert!(sums.is_empty());
        sums.add(2, |sum| sum + 4);
        assert_eq!(sums.iter().collect::<Vec<_>>(), [(2, 4)]);
        sums.clear();
        assert_eq!((sums.is_empty(), sums.iter().count()), (true, 0));
    }
}
