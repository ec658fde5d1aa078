"""Plants faults in what ./dev damaged reads, and asserts that it reports them. Run by tests/checks.rs."""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import player  # noqa: E402


def load_run():
    loader = importlib.machinery.SourceFileLoader("damaged_run", str(pathlib.Path(__file__).with_name("run")))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


run = load_run()


def outcome(frames, code=0, stderr=""):
    return player.Outcome(code, stderr, 1.0, 0, False, frames)


def faults_of_window(frames, decodable):
    window = outcome(frames)
    player.judge_window(window, outcome(1), outcome(1), False, decodable)
    return window.faults


def summarize(results, windowed):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code = run.summarize(results, 1.0, windowed)
    return code, printed.getvalue()


def result(shown, window_frames):
    clip = types.SimpleNamespace(name="mp4-h264-aac", container="mp4", video="h264")
    return run.Result(run.Case(clip, "bits", 0), shown, [], [], 1.0, 0, window_frames)


class Windows(unittest.TestCase):
    def test_a_window_that_stands_after_its_first_frame_is_a_fault(self):
        self.assertEqual(len(faults_of_window(1, 50)), 1)
        self.assertEqual(len(faults_of_window(0, 50)), 1)
        self.assertEqual(faults_of_window(80, 50), [])
        self.assertEqual(faults_of_window(1, 1), [], "a still picture")

    def test_a_window_is_played_again_only_if_it_showed_too_little(self):
        run.frames_at_start = lambda _: 50
        case = types.SimpleNamespace(kind="bits", number=0)
        for outcomes, plays, faults in [
            ([outcome(3), outcome(80)], 2, 0),
            ([outcome(1), outcome(1)], 2, 1),
            ([outcome(0), outcome(0)], 2, 1),
            ([outcome(1, code=-11), outcome(80)], 1, 1),
            ([outcome(80), outcome(80)], 1, 0),
        ]:
            left = list(outcomes)
            trial = run.Run.__new__(run.Run)
            trial.player = types.SimpleNamespace(snapshot=lambda *_: outcome(1), window=lambda *_: left.pop(0))
            window = trial.play_window(None, case)
            self.assertEqual((len(outcomes) - len(left), len(window.faults)), (plays, faults), outcomes)

    def test_frames_of_the_beginning_are_counted_in_order(self):
        printed = "0.000000,\n\n0.040000\nN/A\n0.020000\n1.000000\n7200.000000\n1.500000\n"
        self.assertEqual(player.count_at_start(printed), 4)
        self.assertEqual(player.count_at_start(""), 0)


class Totals(unittest.TestCase):
    def test_no_result_is_a_failure(self):
        self.assertEqual(summarize([], 0)[0], 1)
        self.assertEqual(summarize([result(True, None)], 1)[0], 1, "the window played nothing")
        self.assertEqual(summarize([result(False, None)], 0)[0], 1)
        self.assertEqual(summarize([result(True, 80)], 1)[0], 0)

    def test_a_misspelt_name_selects_nothing(self):
        args = types.SimpleNamespace(count=8, cuts=1, only="mp4-h246")
        clip = types.SimpleNamespace(name="mp4-h264-aac", container="mp4")
        run.cut_places = lambda _: []
        self.assertEqual(run.plan(args, [clip], ["bits"]), [])
        args.only = "mp4-h264"
        self.assertEqual(len(run.plan(args, [clip], ["bits"])), 8)


if __name__ == "__main__":
    unittest.main()
