//! The logarithmic bucket scheme and the mergeable histogram: 64 buckets an octave, never rescaled, octaves
//! allocated when first hit. The buckets are those of an OTLP exponential histogram of scale 6: bucket `i`
//! holds the integers in `(2^(i/64), 2^((i+1)/64)]`, so a value is known within ±0.55 %.

/// Scale of the equivalent OTLP exponential histogram.
pub const SCALE: i32 = 6;

/// Buckets an octave.
pub const BUCKETS_PER_OCTAVE: usize = 64;

/// Octaves that a `u64` can fall into: bucket indices −1 (the value 1) to 4,095.
pub const OCTAVES: usize = 65;

/// Largest relative error of [`midpoint`]: `2^(1/128) − 1`.
pub const RELATIVE_ERROR: f64 = 0.005_430;

/// `floor(2^(63 + k/64))`: a mantissa above entry `k` lies in sub-bucket `k` or higher.
const BOUNDS: [u64; BUCKETS_PER_OCTAVE] = [
    0x8000000000000000,
    0x8164d1f3bc030773,
    0x82cd8698ac2ba1d7,
    0x843a28c3acde4046,
    0x85aac367cc487b14,
    0x871f61969e8d1010,
    0x88980e8092da8527,
    0x8a14d575496efd9a,
    0x8b95c1e3ea8bd6e6,
    0x8d1adf5b7e5ba9e5,
    0x8ea4398b45cd53c0,
    0x9031dc431466b1dc,
    0x91c3d373ab11c336,
    0x935a2b2f13e6e92b,
    0x94f4efa8fef70961,
    0x96942d3720185a00,
    0x9837f0518db8a96f,
    0x99e0459320b7fa64,
    0x9b8d39b9d54e5538,
    0x9d3ed9a72cffb750,
    0x9ef5326091a111ad,
    0xa0b0510fb9714fc2,
    0xa27043030c496818,
    0xa43515ae09e6809e,
    0xa5fed6a9b15138ea,
    0xa7cd93b4e9653569,
    0xa9a15ab4ea7c0ef8,
    0xab7a39b5a93ed337,
    0xad583eea42a14ac6,
    0xaf3b78ad690a4374,
    0xb123f581d2ac258f,
    0xb311c412a9112489,
    0xb504f333f9de6484,
    0xb6fd91e328d17791,
    0xb8fbaf4762fb9ee9,
    0xbaff5ab2133e45fb,
    0xbd08a39f580c36be,
    0xbf1799b67a731082,
    0xc12c4cca66709456,
    0xc346ccda24976407,
    0xc5672a115506dadd,
    0xc78d74c8abb9b15c,
    0xc9b9bd866e2f27a2,
    0xcbec14fef2727c5c,
    0xce248c151f8480e3,
    0xd06333daef2b2594,
    0xd2a81d91f12ae45a,
    0xd4f35aabcfedfa1f,
    0xd744fccad69d6af4,
    0xd99d15c278afd7b5,
    0xdbfbb797daf23755,
    0xde60f4825e0e9123,
    0xe0ccdeec2a94e111,
    0xe33f8972be8a5a51,
    0xe5b906e77c8348a8,
    0xe8396a503c4bdc68,
    0xeac0c6e7dd24392e,
    0xed4f301ed9942b84,
    0xefe4b99bdcdaf5cb,
    0xf281773c59ffb139,
    0xf5257d152486cc2c,
    0xf7d0df730ad13bb8,
    0xfa83b2db722a033a,
    0xfd3e0c0cf486c174,
];

/// For the 8 bits below the leading one: the sub-bucket of the smallest mantissa that starts so.
const GUESS: [u8; 256] = guess();

const fn guess() -> [u8; 256] {
    let mut table = [0u8; 256];
    let mut top = 0;
    while top < 256 {
        let mantissa = (1u64 << 63) | ((top as u64) << 55);
        let mut k = 0;
        while k + 1 < BUCKETS_PER_OCTAVE && mantissa > BOUNDS[k + 1] {
            k += 1;
        }
        table[top] = k as u8;
        top += 1;
    }
    table
}

/// The bounds with one above all mantissas behind them.
const UPPER: [u64; BUCKETS_PER_OCTAVE + 1] = upper();

const fn upper() -> [u64; BUCKETS_PER_OCTAVE + 1] {
    let mut table = [u64::MAX; BUCKETS_PER_OCTAVE + 1];
    let mut k = 0;
    while k < BUCKETS_PER_OCTAVE {
        table[k] = BOUNDS[k];
        k += 1;
    }
    table
}

/// Index of the bucket that holds `value`, or `None` for 0 (the zero bucket).
#[inline(always)]
#[must_use]
pub fn bucket(value: u64) -> Option<i32> {
    if value == 0 {
        return None;
    }
    let (exponent, mantissa) = parts(value);
    // Sub-buckets are wider than what starts with the same 8 bits, so it is the guessed one or the next.
    let guess = GUESS[(mantissa >> 55 & 0xff) as usize];
    let is_next = mantissa > UPPER[usize::from(guess % 64) + 1];
    // Upper bounds are inclusive, so a power of two closes the octave below it.
    let is_power_of_two = mantissa == 1 << 63;
    Some(exponent * 64 + i32::from(guess) + i32::from(is_next) - i32::from(is_power_of_two))
}

/// The exponent of a value that is not 0, and the value shifted until its highest bit is set.
#[inline(always)]
fn parts(value: u64) -> (i32, u64) {
    if value < 1 << f64::MANTISSA_DIGITS {
        // Exact as a double, which has both parts: cheaper than to count zeros where a processor may have no instruction for it.
        let bits = (value as i64 as f64).to_bits();
        ((bits >> 52) as i32 - 1023, bits << 11 | 1 << 63)
    } else {
        let zeros = value.leading_zeros();
        (63 - zeros as i32, value << zeros)
    }
}

/// The geometric middle of bucket `index`, rounded to an integer: the value that stands for the bucket.
#[must_use]
pub fn midpoint(index: i32) -> u64 {
    // `as` saturates, which is what the last buckets of u64 need.
    ((f64::from(index) + 0.5) / 64.0).exp2().round() as u64
}

/// `floor(2^(index/64))`, saturating: the largest integer below bucket `index`.
fn below(index: i32) -> u64 {
    match index.div_euclid(BUCKETS_PER_OCTAVE as i32) {
        ..0 => 0,
        octave @ 0..64 => BOUNDS[index.rem_euclid(BUCKETS_PER_OCTAVE as i32) as usize] >> (63 - octave),
        _ => u64::MAX,
    }
}

/// The smallest and the largest integer in bucket `index`; a bucket without any has a larger smallest one.
#[must_use]
pub fn bounds(index: i32) -> (u64, u64) {
    (below(index).saturating_add(1), below(index.saturating_add(1)))
}

/// Where bucket `index` lives in storage that is split by octaves: (octave, position inside it).
#[inline]
#[must_use]
pub fn slot(index: i32) -> (usize, usize) {
    let shifted = (index + 64) as usize;
    (shifted / BUCKETS_PER_OCTAVE, shifted % BUCKETS_PER_OCTAVE)
}

/// The inverse of [`slot`].
#[must_use]
pub fn index(octave: usize, position: usize) -> i32 {
    (octave * BUCKETS_PER_OCTAVE + position) as i32 - 64
}

/// Counts per bucket. Merging adds; the result depends on the multiset of values only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histogram {
    zero: u64,
    octaves: Vec<Option<Box<[u64; BUCKETS_PER_OCTAVE]>>>,
}

impl Histogram {
    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        match bucket(value) {
            None => self.zero += 1,
            Some(index) => self.add_to_bucket(index, 1),
        }
    }

    /// Adds `count` values to bucket `index`; indices outside of a `u64`'s range go to the nearest bucket.
    pub fn add_to_bucket(&mut self, index: i32, count: u64) {
        let (octave, position) = slot(index.clamp(-1, (OCTAVES as i32 - 1) * 64 - 1));
        if self.octaves.len() <= octave {
            self.octaves.resize(octave + 1, None);
        }
        if let Some(entry) = self.octaves.get_mut(octave) {
            let counts = entry.get_or_insert_with(|| Box::new([0; BUCKETS_PER_OCTAVE]));
            if let Some(slot) = counts.get_mut(position) {
                *slot = slot.saturating_add(count);
            }
        }
    }

    /// Adds `count` zeros.
    pub fn add_zeros(&mut self, count: u64) {
        self.zero = self.zero.saturating_add(count);
    }

    /// Adds every count of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.add_zeros(other.zero);
        for (index, count) in other.buckets() {
            self.add_to_bucket(index, count);
        }
    }

    /// How many values are zero.
    #[must_use]
    pub fn zeros(&self) -> u64 {
        self.zero
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets().fold(self.zero, |sum, (_, count)| sum.saturating_add(count))
    }

    /// The non-empty buckets, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (i32, u64)> + '_ {
        self.octaves.iter().enumerate().flat_map(|(octave, counts)| {
            counts.iter().flat_map(move |counts| {
                counts
                    .iter()
                    .enumerate()
                    .filter(|&(_, &count)| count > 0)
                    .map(move |(position, &count)| (index(octave, position), count))
            })
        })
    }

    /// The value at 0-based `rank` in ascending order, within [`RELATIVE_ERROR`].
    #[must_use]
    pub fn value_at(&self, rank: u64) -> Option<u64> {
        let mut below = self.zero;
        if rank < below {
            return Some(0);
        }
        for (index, count) in self.buckets() {
            below = below.saturating_add(count);
            if rank < below {
                return Some(midpoint(index));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, in floating point, for values whose logarithm is exact enough.
    fn by_definition(value: u64) -> i32 {
        ((value as f64).log2() * 64.0).ceil() as i32 - 1
    }

    #[test]
    fn buckets_follow_the_exponential_histogram_of_scale_6() {
        assert_eq!(bucket(0), None);
        for value in (1..100_000).chain((1..2_000_000_000).step_by(9_973)) {
            assert_eq!(bucket(value), Some(by_definition(value)), "{value}");
        }
        assert_eq!(bucket(u64::MAX), Some(4_095));
        assert_eq!(bucket(1 << 63), Some(63 * 64 - 1));
        assert_eq!(bucket((1 << 63) + 1), Some(63 * 64));
    }

    #[test]
    fn a_bound_closes_its_bucket_in_every_octave() {
        for exponent in 20..64 {
            for (k, &bound) in (0..64i32).zip(&BOUNDS).skip(1) {
                // The largest integer that is not above `2^(exponent + k/64)`.
                let largest = bound >> (63 - exponent);
                assert_eq!(bucket(largest), Some(exponent * 64 + k - 1), "{exponent} {k}");
                assert_eq!(bucket(largest + 1), Some(exponent * 64 + k), "{exponent} {k}");
            }
        }
    }

    #[test]
    fn bounds_are_the_first_and_the_last_value_of_a_bucket() {
        assert_eq!((bounds(-1), bounds(0)), ((1, 1), (2, 1)));
        assert_eq!((bounds(64).0, bounds(63).1), (3, 2));
        assert_eq!((bounds(4_095).1, bounds(4_096)), (u64::MAX, (u64::MAX, u64::MAX)));
        for index in 420..4_096 {
            let (first, last) = bounds(index);
            assert_eq!((bucket(first), bucket(last)), (Some(index), Some(index)), "{index}");
            assert_eq!((bucket(first - 1), bounds(index - 1).1), (Some(index - 1), first - 1), "{index}");
        }
    }

    #[test]
    fn a_midpoint_is_within_the_stated_error() {
        let mut value = 200u64;
        while value < u64::MAX / 2 {
            let middle = midpoint(bucket(value).unwrap()) as f64;
            let error = (middle - value as f64).abs() / value as f64;
            // Rounding to an integer adds up to half a unit on top.
            assert!(error <= RELATIVE_ERROR + 0.5 / value as f64, "{value}: {middle}, {error}");
            value += value / 20 + 1;
        }
    }

    #[test]
    fn merging_equals_recording_everything() {
        let values: Vec<u64> =
            (0..5_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 60)).collect();
        let (left, right) = values.split_at(1_234);
        let of = |values: &[u64]| {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&value| histogram.record(value));
            histogram
        };
        let mut merged = of(right);
        merged.merge(&of(left));
        assert_eq!(merged, of(&values));
        assert_eq!(merged.count(), 5_000);
    }

    #[test]
    fn ranks_match_the_sorted_values() {
        let mut values: Vec<u64> = (0..10_000u64).map(|i| i * i % 777_777).collect();
        let mut histogram = Histogram::default();
        values.iter().for_each(|&value| histogram.record(value));
        values.sort_unstable();
        for rank in [0, 1, 99, 5_000, 9_500, 9_999] {
            let exact = values[rank] as f64;
            let got = histogram.value_at(rank as u64).unwrap() as f64;
            assert!((got - exact).abs() <= exact * RELATIVE_ERROR + 0.5, "{rank}: {got} {exact}");
        }
        assert_eq!(histogram.value_at(10_000), None);
    }

    #[test]
    fn indices_out_of_range_are_kept_in_the_nearest_bucket() {
        let mut histogram = Histogram::default();
        histogram.add_to_bucket(i32::MIN, 1);
        histogram.add_to_bucket(i32::MAX, 2);
        assert_eq!(histogram.buckets().collect::<Vec<_>>(), [(-1, 1), (4_095, 2)]);
    }
}
