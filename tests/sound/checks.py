"""Plants faults in the times that tests/sound/sync compares, and asserts that it reports them. Run by tests/checks.rs."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True


def load_sync():
    loader = importlib.machinery.SourceFileLoader("sync", str(pathlib.Path(__file__).with_name("sync")))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


sync = load_sync()


def times(seconds, speed=1.0, late=0.0):
    """Returns the times of the movie's flashes at this speed, each later by `late`."""
    cycles = range(int(seconds * speed / sync.CYCLE_S) + 1)
    stamps = [n * sync.CYCLE_S + at for n in cycles for at in sync.FLASHES_S]
    return [1000 + stamp / speed + late for stamp in stamps if stamp < seconds * speed]


def faults(flashes, ticks, phase="plain", seconds=100, actions=1):
    return sync.judge(phase, seconds, actions, flashes, ticks, 40)[1]


class Verdict(unittest.TestCase):
    def test_sound_in_step_has_no_fault(self):
        for phase, speed in (("plain", 1), ("half speed", 0.5), ("double speed", 2), ("seeks", 1)):
            for late in (-0.03, 0.0, 0.03):
                self.assertEqual(faults(times(100, speed), times(100, speed, late), phase), [])

    def test_silence_is_a_fault(self):
        self.assertIn("96 of 100 flashes without a tick", faults(times(100), times(3)))
        self.assertIn("100 of 100 flashes without a tick", faults(times(100), []))

    def test_late_sound_is_a_fault_however_late_it_is(self):
        for phase, speed in (("plain", 1), ("half speed", 0.5), ("double speed", 2)):
            for late in range(-40, 41):
                if late:
                    ticks = times(130, speed, late * 0.05)
                    self.assertTrue(faults(times(100, speed), ticks, phase), f"{phase}, {late * 50} ms")

    def test_missing_flashes_are_a_fault(self):
        self.assertTrue(faults([], []))
        self.assertTrue(faults(times(3), times(100)), "the window stands")
        for phase in ("half speed", "double speed"):
            self.assertTrue(faults(times(100), times(100), phase), "it plays at normal speed")

    def test_a_phase_without_its_keys_is_a_fault(self):
        for phase in ("pauses", "seeks"):
            self.assertEqual(faults(times(100), times(100), phase, actions=0), ["no key was pressed"])
        self.assertEqual(faults(times(100), times(100), "plain", actions=0), [])


class Actions(unittest.TestCase):
    def test_the_shortest_phase_has_keys_and_calm(self):
        for seconds in (sync.SHORTEST_PHASE_S, 100):
            keys = sync.Keys({})
            keys.disturbed = [(at - 0.3, at + 2.5 + 1.5) for at in sync.action_times(seconds)]
            self.assertGreaterEqual(len(keys.disturbed), 2)
            self.assertGreater(keys.calm_seconds(0, seconds), 1)
        keys.disturbed = [(1, 3), (2, 4), (8, 20)]
        self.assertEqual(keys.calm_seconds(0, 10), 5)
        self.assertEqual(keys.calm_seconds(30, 31), 1)


if __name__ == "__main__":
    unittest.main()
