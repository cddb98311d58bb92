// What a comparison says first: what is wrong, who meets the targets, and the difference that decides.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "text/model_text.h"
#include "text/result_sentences.h"

namespace kvcap::answers_test {
namespace {

using Texts = std::vector<std::string>;

RunResult result(const std::string& label, double p99_ttft_ms, double p99_itl_ms = 20,
                 const std::string& verdict = "stable") {
  RunResult r;
  r.setting = r.policy = label;
  r.metrics = {{"stable.verdict", verdict},
               {"stable.reason", std::string("it is")},
               {"completed", int64_t{1000}},
               {"rejected", int64_t{0}},
               {"failed", int64_t{0}},
               {"request_throughput", 2.0},
               {"mean_ttft_ms", p99_ttft_ms / 4},
               {"p99_ttft_ms", p99_ttft_ms},
               {"p99_itl_ms", p99_itl_ms},
               {"mean_service_ttft_with_history_ms", p99_ttft_ms / 8},
               {"stored_bytes_per_token", 0.0},
               {"offered_load", 0.12},
               {"offered_bound_by", std::string("gpu")},
               {"utilization.gpu", 0.94},
               {"bound_by", std::string("gpu")},
               {"cost.usd_per_hour", 7.8},
               {"cost.usd_per_million_output_tokens", p99_ttft_ms / 100}};
  return r;
}

void set(RunResult& r, const std::string& name, MetricValue value) {
  for (Metric& one : r.metrics)
    if (one.name == name) one.value = value;
  if (std::none_of(r.metrics.begin(), r.metrics.end(), [&](const Metric& one) { return one.name == name; }))
    r.metrics.push_back({name, std::move(value)});
}

Comparison of(const std::vector<RunResult>& results, std::vector<Difference> differences = {}) {
  std::vector<Setting> settings;
  for (const RunResult& one : results) settings.push_back({one.setting, &one});
  return {std::move(settings), std::move(differences)};
}
Texts answers_of(const std::vector<RunResult>& results) { return answers(of(results)); }

std::string all_of(const std::vector<RunResult>& results) {
  std::string all;
  for (const std::string& one : sentences(of(results))) all += one + "\n";
  return all;
}

void expect_no_praise(const std::vector<RunResult>& results, const std::string& label) {
  const std::string all = all_of(results);
  for (const char* word : {" lowers", " halves", " serves turns with history fastest", " is cheapest",
                           " has the lower", " gains"})
    EXPECT_EQ(all.find(label + word), std::string::npos) << label << word << "\nis in\n" << all;
}

std::vector<RunResult> with_slo(std::vector<RunResult> results, double ttft_ms, double tpot_ms = -1) {
  for (RunResult& one : results) {
    one.slo_ttft_ms = ttft_ms;
    one.slo_tpot_ms = tpot_ms;
  }
  return results;
}

TEST(Answers, SayThatAnOptionHasNoEffectWithoutBeingAsked) {
  std::vector<RunResult> results = {result("a", 100), result("b", 200)};
  for (RunResult& one : results) one.notes = {"no effect: next_use is lru"};
  const Texts brief = brief_sentences(of(results), 0);
  EXPECT_EQ(std::count(brief.begin(), brief.end(), "no effect: next_use is lru."), 1);
  EXPECT_NE(all_of(results).find("no effect: next_use is lru.\n"), std::string::npos);
}

// Wear of rented SSDs is in no total, so the answer has to say it.
TEST(Answers, SayHowFastTheSsdsWearOut) {
  const auto said = [](double years, double wear_usd, double purchase_usd) {
    std::vector<RunResult> results = {result("a", 100), result("b", 200)};
    set(results[1], "ssd_writes.lifetime_years", years);
    set(results[1], "cost.ssd_wear_usd", wear_usd);
    set(results[1], "cost.total_usd", 100.0);
    set(results[1], "duration", 7200.0);
    results[1].scenario_json =
        R"({"hardware":{"ssd":{"purchase_usd":)" + std::to_string(purchase_usd) + "}}}";
    std::string all;
    for (const std::string& one : brief_sentences(of(results), 0)) all += one + "\n";
    const std::size_t begin = all.find("The rated writes");
    return begin == std::string::npos ? "" : all.substr(begin, all.find('\n', begin) - begin);
  };
  const std::string life = "The rated writes of the SSDs last 4.90 years with b";
  EXPECT_EQ(said(4.9, 3, 0), life + " (1.50 $ an hour); the cost does not contain this wear.");
  EXPECT_EQ(said(4.9, 3, 1), life + " (1.50 $ an hour).");
  EXPECT_EQ(said(4.9, 0, 0), life + ".");
  EXPECT_EQ(said(5.1, 4.9, 0), "");
  EXPECT_EQ(said(8, 5.1, 0),
            "The rated writes of the SSDs last 8.00 years with b (2.55 $ an hour); the cost does not contain "
            "this wear.");
}

TEST(Answers, BeginWithTheSettingThatCannotServeTheLoad) {
  const std::vector<RunResult> results = {result("a", 10, 20, "saturated"), result("b", 200),
                                          result("c", 400)};
  const Texts said = answers_of(results);
  ASSERT_GE(said.size(), 2u);
  EXPECT_EQ(said[0], "a cannot serve this load: more arrives than leaves.");
  EXPECT_EQ(said[1],
            "In one run the p99 TTFT of b is 50.0 % lower than that of c (200 against 400 ms), which may be "
            "chance; "
            "b stores nothing.");
  expect_no_praise(results, "a");
}

TEST(Answers, SayNothingElseFirstWhereTheLoadIsTooHighForAll) {
  std::vector<RunResult> results = {result("a", 10, 20, "saturated"), result("b", 200, 20, "saturated")};
  set(results[0], "offered_load", 1.5);
  set(results[1], "offered_load", 1.25);
  EXPECT_EQ(answers_of(results),
            (Texts{"No setting serves this load: more arrives than leaves.",
                   "This load is 125 % of what the GPU can serve with b, at any latency."}));
  expect_no_praise(results, "a");
  expect_no_praise(results, "b");
  EXPECT_EQ(answers_of({results[0]}),
            (Texts{"a cannot serve this load: more arrives than leaves.",
                   "This load is 150 % of what the GPU can serve with a, at any latency."}));
}

TEST(Answers, DoNotCompareRunsThatAreTooShortToTell) {
  const std::vector<RunResult> results = {result("a", 100, 20, "undecided"),
                                          result("b", 200, 20, "undecided")};
  EXPECT_EQ(answers_of(results),
            (Texts{"a and b ran too briefly to tell whether the load can be served: lengthen the run "
                   "(--set workload.run_length=steady, or a longer trace).",
                   "So far p99 TTFT is 100 ms with a, 200 ms with b."}));
  expect_no_praise(results, "a");
}

TEST(Answers, SayHowToLengthenTheRun) {
  RunResult one = result("a", 100, 20, "undecided");
  one.scenario_json = R"({"workload": {"sessions": 150, "run_length": "given"}})";
  EXPECT_NE(answers_of({one})[0].find(
                "lengthen the run (--set workload.sessions=600, or --set workload.run_length=steady)"),
            std::string::npos)
      << answers_of({one})[0];
  one.scenario_json = R"({"workload": {"sessions": 150, "arrivals": {"process": "trace"}}})";
  EXPECT_NE(answers_of({one})[0].find("lengthen the run (a longer log, or --rate or --concurrency with --set "
                                      "workload.run_length=steady, which draw its sessions until "),
            std::string::npos)
      << answers_of({one})[0];
  one.scenario_json = R"({"workload": {"sessions": 150, "run_length": "steady"}})";
  EXPECT_NE(answers_of({one})[0].find("lengthen the run (--set workload.sessions=600)"), std::string::npos)
      << answers_of({one})[0];
}

TEST(Answers, CompareTheLeaderWithTheFirstSettingThenWithTheNext) {
  constexpr const char* kBesideNext =
      "In one run the p99 TTFT of hcache is 7.38 % lower than that of kv_offload ";
  std::vector<RunResult> results = {result("recompute", 5130), result("kv_offload", 4200),
                                    result("hcache", 3890)};
  EXPECT_EQ(
      answers_of(results)[0],
      "In one run the p99 TTFT of hcache is 24.2 % lower than that of recompute (3,890 against 5,130 ms), "
      "which may be chance; hcache stores nothing.");
  EXPECT_EQ(answers_of(results)[1].substr(0, 74), kBesideNext);
  std::swap(results[0], results[2]);
  EXPECT_EQ(answers_of(results)[0].substr(0, 74), kBesideNext);
  EXPECT_EQ(answers_of(results)[1].find("than that of recompute"), std::string::npos) << "the first leads";
  // A first setting that cannot serve the load is not compared with.
  std::swap(results[0], results[2]);
  set(results[0], "stable.verdict", std::string("saturated"));
  EXPECT_EQ(answers_of(results)[1].substr(0, 74), kBesideNext);
}

TEST(Answers, DoNotCountOutdatedNotesAsTrue) {
  std::vector<RunResult> results = {result("a", 100), result("b", 200)};
  results[0].notes = {"four SSDs", "loads block"};
  results[1].notes = {"written before fields were changed: four SSDs", "loads block"};
  const Comparison all = of(results);
  EXPECT_EQ(detail_notes(all), Texts{"loads block"});
  EXPECT_EQ(outdated_notes(all), Texts{"written before fields were changed: four SSDs"});
  const Texts brief = brief_sentences(all);
  EXPECT_EQ(brief[brief.size() - 2],
            "1 note of the file may not hold for the changed fields: --explain shows it");
  EXPECT_EQ(brief.back(), "1 note: --explain");
}

TEST(Answers, CountSettingsInsteadOfNamingMoreThanAFew) {
  std::vector<RunResult> results;
  for (const char* name : {"a", "b", "c", "d", "e"})
    results.push_back(result(name, 100 + 10 * static_cast<double>(results.size()), 20, "undecided"));
  EXPECT_EQ(answers_of(results),
            (Texts{"All 5 settings ran too briefly to tell whether the load can be served: lengthen the run "
                   "(--set workload.run_length=steady, or a longer trace).",
                   "So far p99 TTFT is 100 ms with a to 140 ms with e."}));
}

TEST(Answers, NameTurnsThatAreRejectedOrAbandonedBeforeAnyLatency) {
  std::vector<RunResult> results = {result("a", 100), result("b", 200), result("c", 400)};
  set(results[0], "rejected_share", 0.002);
  set(results[1], "abandoned", int64_t{30});  // of 1,000 turns
  EXPECT_EQ(answers_of(results),
            (Texts{"a rejects 0.200 % of the turns, and latencies are those of the others; b makes clients "
                   "abandon 3.00 % of the turns.",
                   "c serves 2.00 requests/s with a mean TTFT of 100 ms and a p99 TTFT of 400 ms."}));
  expect_no_praise(results, "a");
  expect_no_praise(results, "b");
  // 0.1 % is few.
  set(results[0], "rejected_share", 0.001);
  set(results[1], "abandoned", int64_t{9});
  EXPECT_EQ(answers_of(results).front().substr(0, 33), "In one run the p99 TTFT of a is 5");
  EXPECT_NE(all_of(results).find("Warning: a rejects 0.100 % of the turns"), std::string::npos);
}

TEST(Answers, HaveACapitalOnlyAtTheBeginningOfASentence) {
  std::vector<RunResult> results = {result("a", 100, 20, "saturated"), result("b", 200, 20, "saturated")};
  for (RunResult& one : results) {
    set(one, "stable.reason", std::string("clients give up 76 % of the turns"));
    set(one, "failed_share", 0.76);
    set(one, "abandoned", int64_t{150});
  }
  EXPECT_EQ(answers_of(results)[0],
            "a and b cannot serve this load: clients give up; every setting fails 76.0 % of the turns, and "
            "latencies are those of the others; every setting makes clients abandon 15.0 % of the turns.");
  for (RunResult& one : results) {
    set(one, "completed", int64_t{0});
    set(one, "failed", int64_t{1000});
    set(one, "failed_share", 1.0);
  }
  EXPECT_EQ(answers_of(results)[0].find("those of the others"), std::string::npos) << "there are no others";
  EXPECT_NE(answers_of(results)[0].find("; every setting fails 100 % of the turns; every"),
            std::string::npos);
}

TEST(Answers, GiveNoShareBelowOneOfWhatAMachineServesThatCannotServeTheLoad) {
  RunResult one = result("a", 100, 20, "saturated");
  EXPECT_EQ(answers_of({one}), (Texts{"a cannot serve this load: more arrives than leaves.",
                                      "The busiest resource of a is the GPU (busy 94.0 % of the time)."}));
  set(one, "offered_load", 1.0);
  EXPECT_EQ(answers_of({one})[1], "This load is 100 % of what the GPU can serve with a, at any latency.");
}

TEST(Answers, NameTruncatedTurnsAndPraiseNobodyWhoTruncatesMore) {
  std::vector<RunResult> results = {result("a", 100), result("b", 200)};
  set(results[0], "truncated_share", 0.05);
  set(results[1], "truncated_share", 0.05);
  EXPECT_EQ(answers_of(results)[0], "Every setting truncates 5.00 % of the turns.");
  EXPECT_EQ(answers_of(results)[1].substr(0, 33), "In one run the p99 TTFT of a is 5");
  set(results[1], "truncated_share", 0.04);
  EXPECT_EQ(answers_of(results)[0], "a truncates 5.00 % and b truncates 4.00 % of the turns.");
  expect_no_praise(results, "a");
}

TEST(Answers, SayWhoMeetsTheTargetAtWhatPriceAndByHowMuchOthersMissIt) {
  std::vector<RunResult> results =
      with_slo({result("recompute", 461'000), result("vllm_offload", 3000)}, 5000);
  EXPECT_EQ(answers_of(results)[0],
            "vllm_offload meets p99 TTFT <= 5 s at 7.80 $/h; recompute misses it (461 s).");
  set(results[0], "p99_ttft_ms", 4000.0);
  EXPECT_EQ(answers_of(results)[0], "recompute and vllm_offload meet p99 TTFT <= 5 s, each at 7.80 $/h.");
  set(results[0], "cost.usd_per_hour", 6.5);
  EXPECT_EQ(
      answers_of(results)[0],
      "recompute and vllm_offload meet p99 TTFT <= 5 s; the cheapest of them is recompute at 6.50 $/h.");
  set(results[0], "cost.usd_per_hour", 0.0);
  EXPECT_EQ(answers_of(results)[0], "recompute and vllm_offload meet p99 TTFT <= 5 s.");
}

TEST(Answers, SayThatNoSettingMeetsTheTarget) {
  const std::vector<RunResult> results = {result("a", 6000), result("b", 7000)};
  EXPECT_EQ(answers_of(with_slo(results, 5000))[0],
            "No setting meets p99 TTFT <= 5 s: 6.00 s with a, 7.00 s with b.");
  EXPECT_EQ(answers_of(with_slo({results[0]}, 5000))[0], "a misses p99 TTFT <= 5 s (6.00 s).");
  std::vector<RunResult> both = with_slo(results, 6500, 50);
  set(both[0], "p99_tpot_ms", 60.0);
  set(both[1], "p99_tpot_ms", 40.0);
  EXPECT_EQ(
      answers_of(both)[0],
      "No setting meets p99 TTFT <= 6.5 s and p99 TPOT <= 50 ms: p99 TPOT 60.0 ms with a, p99 TTFT 7.00 s "
      "with b.");
}

TEST(Answers, LeaveATargetOpenWhereTheIntervalHoldsIt) {
  std::vector<RunResult> results = with_slo({result("a", 4900), result("b", 4000)}, 5000);
  results[0].intervals = {{"p99_ttft_ms", 4900, 200}};
  EXPECT_EQ(answers_of(results)[0],
            "b meets p99 TTFT <= 5 s at 7.80 $/h; these runs do not show whether a meets it.");
  EXPECT_EQ(answers_of({results[0]})[0], "These runs do not show whether a meets p99 TTFT <= 5 s.");
  results[0].intervals = {{"p99_ttft_ms", 4900, 90}};
  EXPECT_EQ(answers_of(results)[0], "a and b meet p99 TTFT <= 5 s, each at 7.80 $/h.");
  set(results[0], "stable.verdict", std::string("undecided"));
  EXPECT_EQ(answers_of(results)[1], "b meets p99 TTFT <= 5 s at 7.80 $/h; a meets it so far.");
}

TEST(Answers, NameTheLatencyThatDecidesWhereTtftDoesNot) {
  std::vector<RunResult> results = {result("4", 200, 92), result("1+3", 200, 14), result("2+2", 200, 10)};
  EXPECT_EQ(answers_of(results)[0],
            "p99 ITL tells them apart: 92.0 ms with 4, 14.0 ms with 1+3, 10.0 ms with 2+2.");
  // 9.1 is less than 10 % below 10.
  EXPECT_EQ(answers_of({result("a", 200, 9.1), result("b", 200, 10)})[0].substr(0, 33),
            "These runs do not show whether a ");
}

TEST(Answers, NameTheLatencyThatSpeaksAgainstTheLeastTtft) {
  EXPECT_EQ(
      answers_of({result("4", 238, 92.2), result("2+2", 774, 9.72)})[0],
      "In one run the p99 TTFT of 4 is 69.3 % lower than that of 2+2 (238 against 774 ms), which may be "
      "chance; 4 stores nothing; but the p99 ITL of 2+2 is 89.5 % lower than that of 4 (9.72 ms against "
      "92.2 ms).");
}

TEST(Answers, AreTwoBesideWhatIsWrongWhereTheyAreBrief) {
  std::vector<RunResult> results =
      with_slo({result("a", 10, 20, "saturated"), result("b", 200), result("c", 400)}, 1000);
  const Texts brief = brief_sentences(of(results)), all = answers_of(results);
  EXPECT_EQ(brief, (Texts{all[0], all[1], all[2]}));
  EXPECT_EQ(brief[1], "b and c meet p99 TTFT <= 1 s, each at 7.80 $/h.");
  results.erase(results.begin());
  EXPECT_EQ(brief_sentences(of(results)), (Texts{all[1], all[2]}));
  results[0].notes = {"loads block"};
  EXPECT_EQ(brief_sentences(of(results), 2).back(), "1 note and 2 assumptions: --explain");
  results[0].notes.emplace_back("priced: A100 2024-07");
  EXPECT_EQ(brief_sentences(of(results), 2).back(), "2 notes and 2 assumptions: --explain");
}

TEST(Answers, SplitSettingsWhereTheRunsDo) {
  std::vector<RunResult> results = {result("recompute", 725), result("kv_offload", 241),
                                    result("hcache", 211)};
  for (RunResult& one : results) one.intervals = {{"p99_ttft_ms", one.number("p99_ttft_ms"), 40}};
  EXPECT_EQ(answers_of(results)[0],
            "hcache and kv_offload have a lower p99 TTFT than recompute (211 and 241 against 725 ms); these "
            "runs do not show which of them is lowest; hcache stores nothing.");
}

TEST(Answers, TellABottleneckByTheOfferedLoadAndElseByWhatIsBusy) {
  RunResult one = result("a", 100);
  EXPECT_EQ(answers_of({one}),
            (Texts{"a serves 2.00 requests/s with a mean TTFT of 25.0 ms and a p99 TTFT of 100 ms.",
                   "This load is 12.0 % of what the GPU can serve with a, at any latency."}));
  set(one, "offered_load", std::nan(""));
  EXPECT_EQ(answers_of({one})[1], "The busiest resource of a is the GPU (busy 94.0 % of the time).");
  set(one, "utilization.gpu", 0.4);
  EXPECT_EQ(answers_of({one})[1],
            "No resource of a is near its limit; the busiest is the GPU (40.0 % of the time).");
}

TEST(Answers, NameTheLinkBetweenTheGpusThatIsThere) {
  RunResult one = result("a", 100);
  set(one, "offered_bound_by", std::string("nvlink"));
  const auto link = [&](const std::string& hardware) {
    one.scenario_json = hardware.empty() ? "" : R"({"hardware": )" + hardware + "}";
    const std::string said = answers_of({one})[1];
    const std::string begin = "This load is 12.0 % of what ";
    EXPECT_EQ(said.find(begin), 0u) << said;
    return said.substr(begin.size(), said.find(" can serve") - begin.size());
  };
  EXPECT_EQ(link(""), "NVLink");
  EXPECT_EQ(link(R"({"nvlink": {"latency_s": 0}, "peer": null})"), "NVLink");
  EXPECT_EQ(link(R"({"nvlink": null})"), "PCIe between the GPUs");
  EXPECT_EQ(link(R"({"nvlink": {"latency_s": 0}, "peer": "host"})"), "PCIe between the GPUs");
  set(one, "offered_bound_by", std::string("pcie_h2d"));
  EXPECT_EQ(link(R"({"nvlink": null})"), "the PCIe link to the GPU");
}

TEST(ModelText, SaysThatASettingBeatsOnlyThoseThatServeTheLoad) {
  std::vector<RunResult> results = {result("a", 100), result("b", 200), result("c", 300)};
  ModelReport report{.draws = 4};
  for (const char* one : {"a", "b"})
    for (const char* other : {"a", "b", "c"})
      if (std::string(one) != other) report.rankings.push_back({one, other, "mean_ttft_ms", 0.75});
  const auto text = [&] { return model_text({"a", "b", "c"}, results, report); };
  EXPECT_NE(text().find("a beats b on 75 % of 4 plausible machines and c on 75 % of 4"), std::string::npos)
      << text();
  set(results[0], "stable.verdict", std::string("saturated"));
  EXPECT_NE(text().find("By mean TTFT, b beats c on"), std::string::npos) << text();
  set(results[2], "stable.verdict", std::string("undecided"));
  EXPECT_EQ(text().find("beats"), std::string::npos) << text();
}

// As in the table of results, which has no costs of a bound.
TEST(ModelText, HasNoCostOfABound) {
  std::vector<RunResult> results = {result("a", 100), result("b", 200)};
  for (RunResult& one : results)
    one.model_intervals = {{"mean_ttft_ms", 20, 30, 4}, {std::string(kOutputCost), 68.4, 68.5, 4}};
  const auto count = [&](const char* text) {
    const std::string page = model_text({"a", "b"}, results, {.draws = 4});
    std::size_t times = 0;
    for (std::size_t at = 0; (at = page.find(text, at)) != std::string::npos; ++at) ++times;
    return times;
  };
  EXPECT_EQ(count("68.4..68.5"), 2u);
  results[1].is_bound = true;
  EXPECT_EQ(count("68.4..68.5"), 1u);
  EXPECT_EQ(count("20.0..30.0"), 2u) << "its latencies are shown";
}

}  // namespace
}  // namespace kvcap::answers_test
