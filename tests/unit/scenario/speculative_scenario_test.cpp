// serving.speculative as files and --set write it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/input_error.h"
#include "scenario/load.h"
#include "unit/scenario_samples.h"

namespace kvcap::speculative_scenario_test {
namespace {

namespace fs = std::filesystem;

Scenario with(const std::vector<std::string>& overrides) {
  return parse_scenario(sample_scenario(), "chat.json", overrides);
}

std::string error_of(const std::vector<std::string>& overrides) {
  try {
    with(overrides);
    return "accepted";
  } catch (const InputError& error) {
    return error.what();
  }
}

bool notes(const Scenario& scenario, std::string_view text) {
  return std::any_of(scenario.notes.begin(), scenario.notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

TEST(SpeculativeScenario, HasNoDraftsUnlessItSaysSo) {
  EXPECT_FALSE(with({}).serving.speculative);
  const Scenario none = with({"serving.speculative={}"});
  EXPECT_EQ(none.serving.speculative->draft_tokens, 0);
  EXPECT_FALSE(notes(none, "speculative"));
}

TEST(SpeculativeScenario, SaysThatItsAcceptanceIsGiven) {
  const Scenario scenario = with({R"(serving.speculative={"draft_tokens":3,"acceptance_length":2.5})",
                                  "serving.async_scheduling=false"});
  EXPECT_EQ(scenario.serving.speculative->method, DraftMethod::ngram);
  EXPECT_EQ(scenario.serving.speculative->acceptance_length, 2.5);
  EXPECT_TRUE(notes(scenario, "serving.speculative.acceptance_length 2.5 is given, not computed"));
  EXPECT_FALSE(notes(scenario, "the host drafts"));
  EXPECT_TRUE(
      notes(with({R"(serving.speculative={"draft_tokens":3,"acceptance_rate":0.5})"}), "the host drafts"));
}

TEST(SpeculativeScenario, SaysWhichAcceptanceItAssumesAndWhichFieldSetsIt) {
  const std::vector<std::string> layers = {R"(serving.speculative={"method":"layers","draft_tokens":1})"};
  EXPECT_TRUE(notes(with(layers),
                    "assumed: serving.speculative.acceptance_length 1.6, the low end of published values for "
                    "EAGLE heads (vllm-project/vllm#16035"));
  EXPECT_TRUE(notes(with(layers),
                    "set it, or serving.speculative.acceptance_rate or "
                    "serving.speculative.acceptance_by_position, to the value in your server's log"));
  EXPECT_TRUE(notes(with({layers[0], "model.draft_layers=1"}),
                    "acceptance_length 1.76, the low end of published values "
                    "for MTP layers (DeepSeek-V3 report, section 5.4.3"));
  // Heads that did not come with the model's checkpoint.
  EXPECT_TRUE(notes(with({layers[0], "model.draft_layers=1", "serving.speculative.draft_layers=1"}),
                    "acceptance_length 1.6, the low end of published values for EAGLE heads"));
  EXPECT_FALSE(notes(with({layers[0], "serving.speculative.acceptance_rate=0.5"}), "assumed"));
}

TEST(SpeculativeScenario, TakesAcceptanceByPositionAndSaysHowItGoesOn) {
  const std::string given = R"(serving.speculative={"draft_tokens":3,"acceptance_by_position":[0.8,0.5]})";
  const Scenario longer = with({given});
  EXPECT_EQ(*longer.serving.speculative->acceptance_by_position, (std::vector<double>{0.8, 0.5}));
  EXPECT_TRUE(notes(longer,
                    "assumed: serving.speculative.acceptance_by_position is given, not computed; "
                    "positions after the 2 given ones continue with the last ratio"));
  EXPECT_FALSE(notes(with({given, "serving.speculative.draft_tokens=2"}), "assumed: serving.speculative"));
  EXPECT_EQ(parse_scenario(longer.resolved_json, "chat.json", {}).resolved_json, longer.resolved_json);
  EXPECT_EQ(
      error_of({given, "serving.speculative.acceptance_by_position=[0.5,0.6]"}),
      "--set serving.speculative.acceptance_by_position=[0.5,0.6]: "
      "serving.speculative.acceptance_by_position.1: found 0.6, allowed: at most 0.5, the probability of "
      "the previous position");
  EXPECT_NE(
      error_of({given, "serving.speculative.acceptance_rate=0.5"})
          .find("found 2 positions, allowed: none with acceptance_rate (each determines the acceptance)"),
      std::string::npos);
  EXPECT_NE(error_of({"serving.speculative.acceptance_by_position=[]"}), "accepted");
  EXPECT_NE(error_of({"serving.speculative.acceptance_by_position=[1.5]"}), "accepted");
}

TEST(SpeculativeScenario, TakesDraftsByTheBatch) {
  const std::string rows =
      R"([{"from_sequences":1,"draft_tokens":3},{"from_sequences":65,"draft_tokens":0}])";
  const std::vector<std::string> given = {"serving.speculative.draft_tokens=3",
                                          "serving.speculative.drafts_by_batch=" + rows};
  const Scenario scenario = with(given);
  ASSERT_EQ(scenario.serving.speculative->drafts_by_batch.size(), 2U);
  EXPECT_EQ(scenario.serving.speculative->drafts_by_batch[1].from_sequences, 65);
  EXPECT_EQ(parse_scenario(scenario.resolved_json, "chat.json", {}).resolved_json, scenario.resolved_json);
  const Scenario ranks = with({given[0], given[1], "serving.data_parallel_size=2", "model=mixtral-8x7b"});
  EXPECT_TRUE(ranks.serving.speculative->drafts_by_batch.empty());
  EXPECT_TRUE(notes(ranks, "no effect: serving.speculative.drafts_by_batch"));
  const auto wrong = [&](const std::string& set) { return error_of({given[0], given[1], set}); };
  EXPECT_NE(wrong("serving.speculative.drafts_by_batch.0.from_sequences=2")
                .find("found 2, allowed: 1 in the first"),
            std::string::npos);
  EXPECT_NE(wrong("serving.speculative.drafts_by_batch.1.from_sequences=1")
                .find("found 1, allowed: more than that of the previous row, 1"),
            std::string::npos);
}

TEST(SpeculativeScenario, TakesItsDraftModelByNameFromTheScenarioOrFromSet) {
  const std::string options = R"({"method":"draft_model","draft_tokens":2,"acceptance_rate":0.5)";
  const Scenario one = with({"serving.speculative=" + options + R"(,"draft_model":"opt-6.7b"})"});
  EXPECT_EQ(one.serving.speculative->draft_model->name, "opt-6.7b");
  EXPECT_EQ(one.serving.speculative->draft_model->num_hidden_layers, 32);
  const Scenario other =
      with({"serving.speculative.method=draft_model", "serving.speculative.draft_tokens=2",
            "serving.speculative.acceptance_rate=0.5", "serving.speculative.draft_model=opt-6.7b",
            "serving.speculative.draft_model.num_hidden_layers=7"});
  EXPECT_EQ(other.serving.speculative->draft_model->num_hidden_layers, 7);
  const Scenario inside = parse_scenario(
      sample_scenario(R"("serving": {"speculative": )" + options + R"(, "draft_model": "llama-2-7b"}})"),
      "chat.json", {});
  EXPECT_EQ(inside.serving.speculative->draft_model->hidden_size, 4096);
  // What it resolves to resolves to itself.
  EXPECT_EQ(parse_scenario(inside.resolved_json, "chat.json", {}).resolved_json, inside.resolved_json);
}

TEST(SpeculativeScenario, FindsTheFileOfItsDraftModelBesideIt) {
  const fs::path folder = fs::temp_directory_path() / ("kvcap_speculative_" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "tiny.json") << sample_model();
  std::ofstream(folder / "chat.json") << sample_scenario(
      R"("serving": {"speculative": {"method": "draft_model", "draft_tokens": 2, "acceptance_rate": 0.5,
         "draft_model": "tiny.json"}})");
  const Scenario scenario = load_scenario((folder / "chat.json").string(), {});
  EXPECT_EQ(scenario.serving.speculative->draft_model->name, "tiny");
  fs::remove_all(folder);
}

TEST(SpeculativeScenario, RefusesDraftersThatDoNotFitTheModelOrTheGpus) {
  const std::vector<std::string> ngrams = {"serving.speculative.draft_tokens=2",
                                           "serving.speculative.acceptance_rate=0.5"};
  EXPECT_EQ(error_of(ngrams), "accepted");
  std::vector<std::string> recurrent = ngrams;
  recurrent.push_back(
      R"(model.layer_groups=[{"layers":4,"attention":"recurrent","recurrent":{"heads":2,"head_dim":8,"state_size":8}}])");
  EXPECT_EQ(error_of(recurrent),
            "--set serving.speculative.draft_tokens=2: found 2, allowed: 0 for models with recurrent layers "
            "(their state cannot be rolled back after a rejected draft)");
  const std::vector<std::string> odd = {"serving.tensor_parallel_size=2",
                                        "serving.speculative.method=draft_model",
                                        "serving.speculative.draft_tokens=2",
                                        "serving.speculative.acceptance_rate=0.5",
                                        "serving.speculative.draft_model=opt-6.7b",
                                        "serving.speculative.draft_model.num_attention_heads=3",
                                        "serving.speculative.draft_model.num_key_value_heads=3"};
  EXPECT_NE(error_of(odd).find("num_attention_heads"), std::string::npos) << error_of(odd);
  EXPECT_NE(error_of(odd).find("found 3, allowed: a multiple of serving.tensor_parallel_size = 2"),
            std::string::npos)
      << error_of(odd);
}

}  // namespace
}  // namespace kvcap::speculative_scenario_test
