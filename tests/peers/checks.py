"""Plants faults in what ./dev peers compares, and asserts that it reports them. Run by tests/checks.rs."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import timing  # noqa: E402


class Answers:
    """A contender, or clreel, whose answers are given."""

    def __init__(self, answers):
        self.answers = answers

    def ask(self, *words):
        answer = self.answers[words[0]]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Judge:
    def __init__(self, levels):
        self.levels = levels

    def difference(self, *_):
        return self.levels, 100.0


def report(levels, prepare=("1.0",), run=("1000000", "1000000")):
    entries = [(Answers({"prepare": prepare, "run": run}), "opencv")]
    return with_rows(timing.one_radius(entries, Judge(levels), "720p", 1280, 7, 3, 0, 0, {}))


def with_rows(rows):
    return {"devices": [{"runs": [{"title": "720p · radius 7", "variants": rows, "peaks": []}]}]}


class Faults(unittest.TestCase):
    def test_a_library_that_differs_or_is_not_timed_is_a_fault(self):
        self.assertNotIn("opencv", timing.INNER)
        tolerance = timing.TOLERANCE.get("opencv", 0)
        self.assertEqual(timing.faults(report(tolerance)), [])
        self.assertEqual(len(timing.faults(report(0x5A))), 1, "its output was never written")
        self.assertEqual(timing.faults(report(0, RuntimeError("no"))), ["nothing was timed"])
        self.assertEqual(timing.faults(with_rows([])), ["nothing was timed"])

    def test_a_comparison_of_nothing_is_an_error(self):
        want, got = bytes(4 * 9 * 9), bytes([1] * 4 * 9 * 9)
        inner = timing.with_border(got, want, 4 * 9, 2)
        self.assertEqual(sum(inner), 4 * 5 * 5)
        with self.assertRaises(RuntimeError):
            timing.with_border(got, want, 4 * 9, 5)


if __name__ == "__main__":
    unittest.main()
