// Names that people read instead of paths.
#include "text/titles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "text/assumed_lines.h"

namespace kvcap::titles_test {
namespace {

TEST(Titles, OfFieldsSayWhatTheyAre) {
  EXPECT_EQ(field_title("policy.name"), "policy");
  EXPECT_EQ(field_title("hardware.ssd.read_bandwidth_bytes_per_s"), "SSD read bandwidth");
  EXPECT_EQ(field_title("hardware.dram.capacity_bytes"), "DRAM capacity");
  EXPECT_EQ(field_title("policy.tiers.0.capacity_bytes"), "tier 1 capacity");
  EXPECT_EQ(field_title("workload.arrivals.sessions_per_s"), "session rate");
  EXPECT_EQ(field_title("serving.max_num_seqs"), "max_num_seqs") << "as the engine calls it";
  EXPECT_EQ(field_title("tokens"), "tokens");
  EXPECT_EQ(field_title(""), "");
}

TEST(Titles, OfChangesHaveValuesInUnits) {
  EXPECT_EQ(change_title("policy.name=hcache"), "hcache");
  EXPECT_EQ(change_title("hardware.ssd.count=2"), "2 SSDs");
  EXPECT_EQ(change_title("hardware.ssd.count=1"), "1 SSD");
  EXPECT_EQ(change_title("hardware.dram.capacity_bytes=128000000000"), "DRAM capacity 128 GB");
  EXPECT_EQ(change_title("tokens=512"), "512 tokens");
  EXPECT_EQ(change_title("no path"), "no path");
}

TEST(Titles, OfStepsHaveBothValues) {
  EXPECT_EQ(step_text("hardware.gpu.count 1 -> 2"), "GPUs 1 -> 2");
  EXPECT_EQ(step_text("hardware.ssd.capacity_bytes 960000000000 -> 1920000000000"),
            "SSD capacity 960 GB -> 1,920 GB");
  EXPECT_EQ(step_text("traffic -20 %"), "traffic -20 %");
}

TEST(Titles, OfMetricsHaveUnits) {
  EXPECT_EQ(metric_title("cost.usd_per_hour"), "cost per hour");
  EXPECT_EQ(metric_title("rejected_by_whom"), "rejected_by_whom");
  EXPECT_EQ(metric_text("cost.usd_per_hour", 5.328, std::nan("")), "5.33 $/h");
  EXPECT_EQ(metric_text("token_hit_rate", 0.9, 0.05), "90.0 +-5.0 %");
}

TEST(Titles, StandInNotesInPlacesOfPaths) {
  EXPECT_EQ(without_paths("serving.max_model_len is 16384, the model was trained for 4096 positions"),
            "max_model_len is 16384, the model was trained for 4096 positions");
  EXPECT_EQ(without_paths("hcache (policy.preload=layerwise) on hardware.ssd.count."),
            "hcache (preload=layerwise) on SSDs.");
  EXPECT_EQ(without_paths("cost.usd_per_hour of 1.5 and traces/chat.json"),
            "cost per hour of 1.5 and traces/chat.json");
  EXPECT_EQ(without_paths("...a. B\n"), "...a. B\n");
  EXPECT_EQ(without_paths(""), "");
}

TEST(AssumedLines, AreFewAndHoldForTheRun) {
  std::vector<std::string> notes = {"written before fields were changed: the rate is low",
                                    "priced: SSDs 2024-07", "keeps 30 layers, chosen for 2587 tokens",
                                    "keeps 30 layers, chosen for 2361 tokens",
                                    "assumed: acceptance_length 1.76"};
  AssumedLines found = assumed_lines(notes);
  EXPECT_EQ(found.lines, (std::vector<std::string>{"assumed: acceptance_length 1.76",
                                                   "keeps 30 layers, chosen for 2587 tokens"}));
  EXPECT_EQ(found.more, 0u);
  for (const char* one : {"a", "b", "c", "d", "e", "f"}) notes.emplace_back(one);
  found = assumed_lines(notes);
  EXPECT_EQ(found.lines.size(), kMostAssumedLines);
  EXPECT_EQ(found.more, 2u);
}

}  // namespace
}  // namespace kvcap::titles_test
