"""Statistics against numbers worked out by hand."""

import unittest
from fractions import Fraction

import stats


class Statistics(unittest.TestCase):
    def test_nearest_rank(self):
        ordered = [10, 20, 30, 40]
        self.assertEqual(stats.quantile(ordered, 1, 2), 20)
        self.assertEqual(stats.quantile(ordered, 95, 100), 40)
        self.assertEqual(stats.quantile(ordered, 0, 1), 10)
        self.assertEqual(stats.quantile(list(range(1, 101)), 95, 100), 95)
        self.assertEqual(stats.quantile(list(range(1, 102)), 95, 100), 96)
        self.assertIsNone(stats.quantile([], 1, 2))

    def test_moments(self):
        self.assertEqual(stats.mean([1, 2, 4]), Fraction(7, 3))
        # 2, 4, 4, 4, 5, 5, 7, 9: squared deviations from 5 add up to 32; 32 / 7 = 4.571428…
        self.assertAlmostEqual(float(stats.std([2, 4, 4, 4, 5, 5, 7, 9])), 2.138089935299395, places=14)
        self.assertEqual(stats.std([10**18, 10**18 + 2, 10**18 + 4]), 2)
        self.assertIsNone(stats.std([3]))
        self.assertEqual(stats.mad([1, 3, 5, 9]), 2)

    def test_student(self):
        # Abramowitz and Stegun, table 26.10, two-sided.
        for probability, freedom, t in ((0.05, 1, 12.706), (0.05, 5, 2.571), (0.01, 2, 9.925), (0.001, 8, 5.041)):
            self.assertAlmostEqual(stats.student_quantile(probability, freedom), t, 3)
        self.assertAlmostEqual(stats.student(1e9, 8), 0, 12)
        self.assertAlmostEqual(stats.student(1e-9, 8), 1, 8)

    def test_buckets(self):
        self.assertEqual([stats.bucket(v) for v in (1, 2, 3, 4, 1024)], [-1, 63, 101, 127, 639])
        # 2^(6 + 1/64) = 64.697: 64 closes its octave, 65 lies in the second bucket above it.
        self.assertEqual([stats.bucket(v) for v in (64, 65)], [383, 385])
        self.assertEqual(stats.histogram([0, 64, 64, 65, 0]), (2, {383: 2, 385: 1}))

    def test_borders(self):
        # 2^(404/64) = 79.479, 2^(405/64) = 80.344, 2^(442/64) = 119.947, 2^(443/64) = 121.253.
        self.assertEqual(stats.borders([120, 80, 121, 80]), [[80, 80], [120, 121]])
        self.assertEqual(stats.borders([0, 1]), [[0, 1]])
        self.assertEqual(stats.borders([]), [])
        # 2^(573/64) = 495.6, 2^(574/64) = 501.03, 2^(575/64) = 506.5; 2^(702/64) = 2004.1, 2^(703/64) = 2025.9.
        self.assertEqual(stats.borders([512, 2025]), [[507, 512], [2005, 2025]])
        self.assertEqual(stats.borders([512, 2048]), [[502, 512], [2005, 2048]])

    def test_union(self):
        self.assertEqual(stats.union([(0, 10), (5, 20), (30, 40), (40, 41), (7, 3)]), 31)
        self.assertEqual(stats.union([]), 0)


if __name__ == "__main__":
    unittest.main()
