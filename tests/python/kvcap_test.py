"""The Python package: each function against the program, its errors, and its wheel on its own."""

import contextlib
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "sim" / "python"))

import kvcap  # noqa: E402

SMALL = {
    "schema": "kvcap.scenario/1",
    "name": "small",
    "model": "llama-3.1-8b",
    "hardware": "h100-sxm",
    "workload": {"source": {"kind": "chat"}, "arrivals": {"sessions_per_s": 0.1}, "sessions": 40},
    "policy": "recompute",
}


def printed(*arguments):
    return json.loads(subprocess.run([kvcap.program(), *arguments, "--json"], check=True, stdout=subprocess.PIPE).stdout)


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        Path("small.json").write_text(json.dumps(SMALL))


class Scenarios(InAFolder):
    def test_of_a_file_and_of_a_dictionary_give_what_the_program_prints(self):
        wanted = printed("run", "small.json", "--set", "policy.name=hcache")["metrics"]
        for source in ("small.json", Path("small.json"), SMALL):
            result = kvcap.Scenario(source).set("policy.name", "hcache").run()
            self.assertEqual(result.json["metrics"], wanted)
        self.assertEqual(sorted(one.name for one in self.folder.iterdir()), ["small.json"], "nothing is left behind")

    def test_of_options_are_those_of_the_command_line(self):
        options = ["--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--workload", "chat", "--rate", "2"]
        sessions = ["--set", "workload.sessions=30"]
        scenario = kvcap.Scenario(model="llama-3.1-8b", gpu="h100-sxm", workload="chat", rate=2)
        self.assertEqual(scenario.set("workload.sessions", 30).run().json["metrics"],
                         printed("run", *options, *sessions)["metrics"])

    def test_may_start_from_a_launch_line(self):
        scenario = kvcap.Scenario("demo", from_="vllm serve Qwen/Qwen3-8B --max-num-seqs 7").set("hardware", "h100-sxm")
        self.assertEqual(scenario.set("workload.sessions", 20).run().scenario["serving"]["max_num_seqs"], 7)

    def test_do_not_change_when_a_field_is_set(self):
        base = kvcap.Scenario(SMALL)
        changed = base.set("serving.max_num_seqs", 2).set("serving.max_num_seqs", 3)
        self.assertEqual(changed.run().scenario["serving"]["max_num_seqs"], 3)
        self.assertNotEqual(base.run().scenario["serving"]["max_num_seqs"], 3)
        self.assertEqual(repr(changed), repr(base) + ".set('serving.max_num_seqs', 3)")

    def test_take_every_kind_of_value(self):
        served = kvcap.Scenario(SMALL).set("policy", {"name": "lmcache", "tiers": [{"kind": "dram"}]}) \
            .set("serving.prefix_caching", False).set("hardware.dram.capacity_bytes", "64GB") \
            .set("serving.kv_capacity_tokens", None).run().scenario
        self.assertEqual(served["policy"]["name"], "lmcache")
        self.assertFalse(served["serving"]["prefix_caching"])
        self.assertEqual(served["hardware"]["dram"]["capacity_bytes"], 64e9)


class Results(InAFolder):
    def test_have_metrics_by_their_full_names(self):
        result = kvcap.Scenario(SMALL).run()
        metrics = result.metrics
        self.assertEqual(metrics["stable.verdict"], metrics["stable"]["verdict"])
        self.assertIn("cost.usd_per_hour", metrics.flat())
        self.assertGreater(metrics["mean_ttft_ms"], 0)
        with self.assertRaisesRegex(KeyError, "p99_ttft: unknown metric; did you mean 'p99_ttft_ms'"):
            metrics["p99_ttft"]
        self.assertIn("<td>mean_ttft_ms</td>", result._repr_html_())
        self.assertEqual(result.name, "recompute")

    def test_of_a_comparison_are_in_the_order_that_was_asked_for(self):
        comparison = kvcap.Scenario(SMALL).compare(policies=["kv_offload", "recompute"], draws=0)
        self.assertEqual([one.name for one in comparison.results], ["kv_offload", "recompute"])
        self.assertEqual(comparison[1].metrics["mean_ttft_ms"], kvcap.Scenario(SMALL).run().metrics["mean_ttft_ms"])
        self.assertIn("<th>recompute</th>", comparison._repr_html_())
        over = kvcap.Scenario(SMALL).compare(over={"serving.max_num_seqs": [1, 64]}, draws=0)
        self.assertEqual([one.scenario["serving"]["max_num_seqs"] for one in over.results], [1, 64])

    def test_of_many_scenarios_are_in_their_order(self):
        scenarios = [kvcap.Scenario(SMALL).set("serving.max_num_seqs", n) for n in (1, 2, 3)]
        results = kvcap.run_all(scenarios, jobs=2)
        self.assertEqual([one.scenario["serving"]["max_num_seqs"] for one in results], [1, 2, 3])

    def test_as_frames_have_a_row_a_setting_or_say_what_they_need(self):
        comparison = kvcap.Scenario(SMALL).compare(policies=["recompute", "ideal"], draws=0)
        try:
            frame = comparison.to_frame()
        except ImportError as error:
            self.assertIn("needs pandas: python -m pip install pandas", str(error))
            return
        self.assertEqual(list(frame.index), ["recompute", "ideal"])
        self.assertEqual(frame["mean_ttft_ms"]["ideal"], comparison[1].metrics["mean_ttft_ms"])
        series = comparison[0].to_frame()
        self.assertEqual(len(series), len(comparison[0].json["series"]["time_s"]))

    def test_as_plots_have_an_axes_a_series_or_say_what_they_need(self):
        os.environ.setdefault("MPLBACKEND", "Agg")
        comparison = kvcap.Scenario(SMALL).compare(policies=["recompute", "ideal"], draws=0)
        try:
            bars = comparison.plot("mean_e2el_ms")
        except ImportError as error:
            self.assertIn("needs matplotlib: python -m pip install matplotlib", str(error))
            return
        self.assertEqual([one.get_text() for one in bars.axes[0].get_yticklabels()], ["recompute", "ideal"])
        self.assertEqual(len(comparison[0].plot(["running", "waiting"]).axes), 2)

    def test_have_as_many_notes_as_the_program_counts(self):
        said = subprocess.run([kvcap.program(), "run", "small.json"], check=True, stdout=subprocess.PIPE, text=True).stdout
        counts = re.search(r"^(\d+) notes?(?: and (\d+) assumptions?)?: --explain$", said, re.MULTILINE)
        self.assertEqual(sum(int(one) for one in counts.groups() if one), len(kvcap.Scenario(SMALL).run().notes))


class Commands(InAFolder):
    def test_of_a_sweep_return_its_rows(self):
        found = kvcap.sweep({"schema": "kvcap.sweep/1", "base": SMALL, "grid": {"policy.name": ["recompute", "ideal"]}},
                            out="swept")
        self.assertEqual([row["policy.name"] for row in found.rows], ["recompute", "ideal"])
        self.assertEqual([row["status"] for row in found.rows], ["ok", "ok"])
        self.assertEqual(len(found), 2)

    def test_restore_show_and_capacity_return_the_programs_json(self):
        asked = ("--model", "llama-2-7b", "--hardware", "a100-40g-4x-pm9a3", "--tokens", "2000", "--policy", "all")
        self.assertEqual(kvcap.restore("llama-2-7b", "a100-40g-4x-pm9a3", 2000).json, printed("restore", *asked))
        self.assertEqual(kvcap.show("models"), printed("show", "models"))
        self.assertEqual(kvcap.show("hardware", "h100-sxm")["name"], printed("show", "hardware", "h100-sxm")["name"])
        capacity = kvcap.Scenario(SMALL).capacity(meet="p99_ttft_ms<=2000", seeds=1)
        self.assertEqual(capacity["schema"], "kvcap.capacity/1")
        with self.assertRaises(kvcap.CheckFailed) as caught:
            kvcap.Scenario(SMALL).capacity(meet="p99_ttft_ms<=0.1", seeds=1)
        self.assertEqual(str(caught.exception), "dictionary: no load meets the targets")

    def test_of_a_plan_return_its_answer(self):
        found = kvcap.plan({"schema": "kvcap.plan/1", "base": SMALL, "search": {"policy.name": ["recompute", "ideal"]},
                            "meet": {"p99_ttft_ms": {"max": 60000}}, "max_replications": 1}, draws=0)
        self.assertIn(found.answer["changes"], (["policy.name=recompute"], ["policy.name=ideal"]))

    def test_fit_writes_the_fitted_profile(self):
        log = SOURCE / "traces" / "bench-sample.json"
        answer = kvcap.fit(str(log), base="h100-sxm", out="mine.json", model="llama-3.1-8b")
        self.assertEqual(answer["schema"], "kvcap.fit/1")
        self.assertTrue(Path("mine.json").exists())


class Errors(InAFolder):
    def test_of_bad_input_name_file_field_found_and_allowed(self):
        with self.assertRaises(kvcap.InputError) as caught:
            kvcap.Scenario({**SMALL, "serving": {"max_num_seqs": -1}}).run()
        error = caught.exception
        self.assertEqual((error.file, error.field, error.found), ("dictionary", "serving.max_num_seqs", "-1"))
        self.assertTrue(error.allowed.startswith("an integer from 1"))
        with self.assertRaises(kvcap.InputError) as caught:
            kvcap.Scenario("small.json").set("policy.nam", "hcache").run()
        error = caught.exception
        self.assertEqual((error.file, error.field, error.found), (None, "policy.nam", "nam"))
        with self.assertRaises(kvcap.InputError) as caught:
            kvcap.Scenario("small.json").set("serving.nonsense", 1).run()
        self.assertEqual(caught.exception.found, "nonsense")
        self.assertTrue(caught.exception.allowed.startswith("engine, "))
        with self.assertRaises(kvcap.InputError) as caught:
            kvcap.Scenario("nothing.json").run()
        self.assertEqual(caught.exception.file, "nothing.json")
        self.assertIsInstance(caught.exception, ValueError)

    def test_of_every_option_say_what_was_found_and_what_is_allowed(self):
        for option, value, field, found, allowed in [
                ("engine", "vllm@99", "--engine", '"99"', "a version of vLLM: "),
                ("gpu", "h10", "hardware", '"h10"', "a100-"),
                ("rate", -1, "workload.arrivals.requests_per_s", "-1", "a number from "),
                ("rate", "fast", "--rate", '"fast"', "a number"),
                ("gpus", "two", "--gpus", '"two"', "an integer from 1 to 1024"),
                ("dram", "much", "--dram", '"much"', "a size such as "),
        ]:
            with self.subTest(option, value=value), self.assertRaises(kvcap.InputError) as caught:
                kvcap.Scenario(**{"model": "llama-3.1-8b", "gpu": "h100-sxm", "workload": "chat", "rate": 1,
                                  option: value}).compare(policies=["vllm_offload"], draws=0)
            error = caught.exception
            self.assertEqual((error.file, error.field, error.found), (None, field, found))
            self.assertTrue(error.allowed.startswith(allowed), error.allowed)

    def test_of_a_requirement_carry_the_result(self):
        with self.assertRaises(kvcap.CheckFailed) as caught:
            kvcap.Scenario(SMALL).run(require="p99_ttft_ms<=0.1")
        self.assertGreater(caught.exception.result.metrics["p99_ttft_ms"], 0.1)

    def test_of_a_missing_program_say_how_to_name_it(self):
        before = os.environ.get("KVCAP_BIN")
        self.addCleanup(os.environ.__setitem__, "KVCAP_BIN", before or "")
        os.environ["KVCAP_BIN"] = "/nowhere/kvcap"
        with self.assertRaisesRegex(kvcap.ProgramError, "KVCAP_BIN"):
            kvcap.show("models")


class Wheel(InAFolder):
    def test_runs_without_the_build_beside_it(self):
        subprocess.run([sys.executable, str(SOURCE / "sim" / "python" / "wheel.py"), kvcap.program(), "dist"],
                       check=True, stdout=subprocess.DEVNULL)
        wheel, = Path("dist").glob("kvcap-*.whl")
        self.assertIn("-py3-none-", wheel.name)
        with zipfile.ZipFile(wheel) as archive:
            for one in archive.infolist():
                path = archive.extract(one, "site")
                os.chmod(path, one.external_attr >> 16)
            record = [name for name in archive.namelist() if name.endswith(".dist-info/RECORD")]
            self.assertEqual(len(archive.read(record[0]).decode().splitlines()), len(archive.namelist()))
        script = ("import kvcap; print(kvcap.program()); "
                  "print(kvcap.Scenario('demo').set('workload.sessions', 20).run().metrics['completed'])")
        done = subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, text=True,
                              env={"PYTHONPATH": "site", "PATH": "/nowhere"})
        program, completed = done.stdout.split()
        self.assertTrue(program.endswith("site/kvcap/bin/kvcap"), program)
        self.assertGreater(float(completed), 0)
        said = subprocess.run([sys.executable, "-m", "kvcap", "run", "demo", "--set", "workload.sesions=1"],
                              stderr=subprocess.PIPE, text=True, env={"PYTHONPATH": "site", "PATH": "/nowhere"})
        self.assertEqual(said.returncode, 2)
        self.assertIn("sessions", said.stderr)


class Notebooks(InAFolder):
    """Each cell in order, as Jupyter would; a cell whose tag names a package that is not here is left out."""

    def run_notebook(self, path):
        for folder in ("scenarios", "traces", "models", "hwprofiles"):
            os.symlink(SOURCE / folder, folder)
        names = {}
        for cell in json.loads(path.read_text())["cells"]:
            needed = [tag[len("needs-"):] for tag in cell["metadata"].get("tags", []) if tag.startswith("needs-")]
            if cell["cell_type"] != "code" or any(importlib.util.find_spec(package) is None for package in needed):
                continue
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile("".join(cell["source"]), f"{path.name}: {cell['id']}", "exec"), names)

    def test_run_from_the_first_cell_to_the_last(self):
        notebooks = sorted((SOURCE / "sim" / "python" / "notebooks").glob("*.ipynb"))
        self.assertEqual(len(notebooks), 3)
        for path in notebooks:
            with self.subTest(path.name), tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                self.run_notebook(path)
                os.chdir(self.folder)


if __name__ == "__main__":
    unittest.main()
