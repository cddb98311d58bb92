// The advice to change a setting: none toward a setting that does not serve the load, and what it worsens.
#include "text/change_gain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kvcap::change_gain_test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Column {
  std::string label;
  double mean_ttft_ms = 0;
  std::string verdict = "stable";
  double rejected_share = 0, failed_share = 0, p99_ttft_ms = 500, cost = 2;
};

// The settings of a comparison, with paired differences of one run or of several.
class Compared {
 public:
  explicit Compared(const std::vector<Column>& columns, double half_width = kNaN) {
    results_.reserve(columns.size());
    std::vector<Setting> settings;
    std::vector<Difference> differences;
    for (const Column& one : columns) {
      RunResult& result = results_.emplace_back();
      result.setting = result.policy = one.label;
      result.metrics = {{"stable.verdict", one.verdict},
                        {"completed", int64_t{1000}},
                        {"rejected_share", one.rejected_share},
                        {"failed_share", one.failed_share},
                        {"mean_ttft_ms", one.mean_ttft_ms},
                        {"p99_ttft_ms", one.p99_ttft_ms},
                        {"cost.usd_per_million_output_tokens", one.cost}};
      settings.push_back({one.label, &result});
      for (const char* metric : {"mean_ttft_ms", "p99_ttft_ms", "cost.usd_per_million_output_tokens"}) {
        const double change = result.number(metric) - results_.front().number(metric);
        if (results_.size() > 1)
          differences.push_back({one.label, columns.front().label, metric, change, half_width});
      }
    }
    all_.emplace(std::move(settings), std::move(differences));
  }

  std::string gain(std::size_t i) const { return gain_text(*all_, all_->settings()[i]); }
  std::string no_gain() const { return no_gain_text(*all_); }

 private:
  std::vector<RunResult> results_;
  std::optional<Comparison> all_;
};

TEST(ChangeGain, IsNoneTowardASettingThatDoesNotServeTheLoad) {
  const Compared all({{"4", 9350, "saturated", 0.86},
                      {"64", 248, "saturated", 0.061},
                      {"256", 19600, "saturated"},
                      {"rejects", 100, "stable", 0.002},
                      {"fails", 100, "stable", 0, 0.002},
                      {"short", 100, "undecided"},
                      {"serves", 30000}});
  for (std::size_t i = 1; i < 6; ++i) EXPECT_EQ(all.gain(i), "") << i;
  EXPECT_EQ(all.gain(6), "      serves this load, which 4 does not\n") << "latencies are not compared";
  EXPECT_EQ(Compared({{"a", 100, "stable", 0.5}, {"b", 200}}).gain(1),
            "      serves the turns that a rejects, truncates or lets clients abandon\n");
  EXPECT_EQ(
      Compared({{"a", 100, "saturated"}, {"b", 50, "saturated"}}).no_gain(),
      "\nNo flag to change: no setting serves this load. kvcap capacity finds the highest load served.\n");
}

TEST(ChangeGain, SaysThatOneRunMayBeChance) {
  EXPECT_EQ(Compared({{"a", 78000}, {"b", 72400}}).gain(1),
            "      mean TTFT 72,400 ms instead of 78,000 (-7 %) in one run, which may be chance\n");
  EXPECT_EQ(Compared({{"a", 78000}, {"b", 72400}}, 1000).gain(1),
            "      mean TTFT 72,400 ms instead of 78,000 (-7 %)\n");
  EXPECT_EQ(Compared({{"a", 78000}, {"b", 72400}}, 6000).gain(1), "") << "not significant";
  EXPECT_EQ(Compared({{"a", 1000}, {"b", 996}}).gain(1), "") << "less than half a per cent";
  EXPECT_EQ(Compared({{"a", 1000}, {"b", 1100}}).gain(1), "");
  EXPECT_EQ(Compared({{"a", 1000, "undecided"}, {"b", 500, "undecided"}}).gain(1),
            "      so far mean TTFT 500 ms instead of 1,000 (-50 %) in one run, which may be chance\n");
}

TEST(ChangeGain, NamesWhatTheChangeWorsens) {
  const std::vector<Column> columns = {{"a", 78000, "stable", 0, 0, 273000, 25},
                                       {"b", 72400, "stable", 0, 0, 283000, 26}};
  EXPECT_EQ(Compared(columns).gain(1),
            "      mean TTFT 72,400 ms instead of 78,000 (-7 %) in one run, which may be chance\n"
            "      but p99 TTFT 283,000 ms instead of 273,000 (+4 %), cost 26.0 $/M tokens instead of 25.0 "
            "(+4 %)\n");
  EXPECT_EQ(Compared(columns, 2).gain(1),
            "      mean TTFT 72,400 ms instead of 78,000 (-7 %)\n"
            "      but p99 TTFT 283,000 ms instead of 273,000 (+4 %)\n")
      << "the cost may differ by chance";
}

TEST(ChangeGain, SaysWhyNoChangeIsAdvised) {
  EXPECT_EQ(Compared({{"a", 100}, {"b", 200}}).no_gain(),
            "\nNo flag to change: no setting lowers mean TTFT by more than chance and half a per cent.\n");
  EXPECT_EQ(
      Compared({{"a", 100}, {"b", 50, "saturated"}}).no_gain(),
      "\nNo flag to change: no setting that serves this load lowers mean TTFT by more than chance and half "
      "a per cent.\n");
  EXPECT_EQ(Compared({{"a", 100}, {"b", 200, "undecided"}}).no_gain(),
            "\nThe runs were too brief to tell whether to change a flag.\n");
}

}  // namespace
}  // namespace kvcap::change_gain_test
